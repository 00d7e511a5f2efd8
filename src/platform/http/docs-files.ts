import { readFileSync } from 'node:fs'

interface DocsFile {
  /** In docs/, without its extension. */
  readonly file: string
  readonly title: string
  readonly about: string
}

/** The pages of docs/ that the API serves, by the last part of their addresses. */
export const DOCS_FILES: ReadonlyMap<string, DocsFile> = new Map(
  [
    ['start', 'Start', 'Start farewatch, connect an upstream and stores, and what it promises'],
    [
      'resellers',
      'Resellers',
      'Watch fares, follow the feed, verify: five minutes, then each part',
    ],
    [
      'afternoon',
      'Why not a script',
      'Eight things that a script of an afternoon gets wrong, as it did',
    ],
    ['reference/api', 'API rules', 'Keys, limits, problems, pages, following changes, restores'],
    ['reference/watch-lists', 'Watch lists', 'Columns of a watch, CSV and YAML files, imports'],
    ['reference/webhooks', 'Webhooks', 'Verify and answer webhooks, and what is tried again when'],
    ['reference/events', 'Events', 'Each kind of record and event, with its JSON Schema'],
    ['reference/problem-codes', 'Errors', 'Each problem code with its cause'],
    ['reference/truth', 'Rules of truth', 'What makes an answer of the upstream a record'],
    ['reference/availability-states', 'States', 'Each state of a fare, and each case of an answer'],
    ['reference/stability', 'Stability', 'What a later version may change'],
    ['analysts', 'Analysts', 'The history in SQL: logins, views, exports, questions'],
    ['reference/dictionary', 'Dictionary', 'Each view and column of the public SQL'],
    ['reference/runbooks', 'Runbooks', 'What to do about each warning of the status'],
  ].map(([file = '', title = '', about = '']) => [
    file.replace(/.*\//, ''),
    { file, title, about },
  ]),
)

const FOLDER = new URL('../../../docs/', import.meta.url)

/** The Markdown of a page, in which links lead to other served pages alone. */
export function readDocs({ file }: DocsFile): string {
  return readFileSync(new URL(`${file}.md`, FOLDER), 'utf8')
}

/**
 * The address of what a link in docs/ leads to: a part of the same page, another served page or another site. Undefined for
 * files that only the repository has.
 * @example docsAddress('reference/api.md#keys') // '/docs/api#keys'
 */
export function docsAddress(href: string, extension = ''): string | undefined {
  if (/^(#|https:\/\/)/.test(href)) return href
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
