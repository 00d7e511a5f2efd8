import { readdirSync, readFileSync } from 'node:fs'

const FOLDER = new URL('../../../docs/', import.meta.url)

/** What readers without a checkout need. The rest of docs/ is about the code. */
const PAGES =
  `start resellers analysts operators afternoon reference/api reference/watch-lists reference/webhooks reference/events
  reference/problem-codes reference/truth reference/availability-states reference/stability reference/dictionary
  reference/questions reference/worked-questions reference/runbooks reference/settings reference/deploying reference/cli
  reference/metrics reference/guard reference/schedule reference/upstream reference/sandbox performance`.split(
    /\s+/,
  )

/** A file of docs/. */
export function readDocs(file: string): string {
  return readFileSync(new URL(file, FOLDER), 'utf8')
}

/** The pages of docs/ that the API serves, by the last part of their addresses. The title is the heading. */
export const DOCS_FILES: ReadonlyMap<string, { readonly title: string; readonly text: string }> =
  new Map(
    PAGES.map((page) => {
      const text = readDocs(`${page}.md`)
      const title = /^# (.+)$/m.exec(text)?.[1] ?? page
      return [page.replace(/.*\//, ''), { title, text }]
    }),
  )

/** The schemas of events, by the ends of their addresses. */
export const DOCS_SCHEMAS = readdirSync(new URL('events/v1', FOLDER)).map(
  (name) => `events/v1/${name}`,
)

/**
 * The address of what a link in docs/ leads to: a part of the same page, another served page or another site. Undefined for
 * files that only the repository has.
 * @example docsAddress('reference/api.md#keys') // '/docs/api#keys'
 */
export function docsAddress(href: string, extension = ''): string | undefined {
  if (/^(#|https:\/\/)/.test(href)) return href
  if (href.endsWith('openapi.json')) return '/openapi.json'
  const schema = DOCS_SCHEMAS.find((name) => href.endsWith(name))
  if (schema !== undefined) return `/docs/${schema}`
  const [, name = '', anchor = ''] = /^(?:[\w./-]*\/)?([\w-]+)\.md(#.*)?$/.exec(href) ?? []
  return DOCS_FILES.has(name) ? `/docs/${name}${extension}${anchor}` : undefined
}

/** The ids of the headings of one page, as GitHub derives them. */
export function createSlugs(): (heading: string) => string {
  const counts = new Map<string, number>()
  return (heading) => {
    const kept = heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '')
    const slug = kept.replaceAll(' ', '-')
    const count = counts.get(slug) ?? 0
    counts.set(slug, count + 1)
    return count === 0 ? slug : `${slug}-${count}`
  }
}
