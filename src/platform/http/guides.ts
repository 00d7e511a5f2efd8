import { readFileSync } from 'node:fs'
import { Marked } from 'marked'

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
function readDocs({ file }: DocsFile): string {
  return readFileSync(new URL(`${file}.md`, FOLDER), 'utf8')
}

/**
 * The address of what a link in docs/ leads to: a part of the same page, another served page or another site. Undefined for
 * files that only the repository has.
 * @example docsAddress('reference/api.md#keys') // '/docs/api#keys'
 */
function docsAddress(href: string, extension = ''): string | undefined {
  if (/^(#|https:\/\/)/.test(href)) return href
  const [, name = '', anchor = ''] = /^(?:[\w./-]*\/)?([\w-]+)\.md(#.*)?$/.exec(href) ?? []
  return DOCS_FILES.has(name) ? `/docs/${name}${extension}${anchor}` : undefined
}

/** The ids of the headings of one page, as GitHub derives them. */
function createSlugs(): (heading: string) => string {
  const counts = new Map<string, number>()
  return (heading) => {
    const kept = heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '')
    const slug = kept.replaceAll(' ', '-')
    const count = counts.get(slug) ?? 0
    counts.set(slug, count + 1)
    return count === 0 ? slug : `${slug}-${count}`
  }
}

const STYLE = readFileSync(new URL('guides.css', import.meta.url), 'utf8')

const LINKS = [
  ['/docs', 'Operations'],
  ...[...DOCS_FILES].map(([name, { title }]) => [`/docs/${name}`, title]),
]
  .map(([href, title]) => `<a href="${href}">${title}</a>`)
  .join('\n')

/** A whole page of the documentation. */
export function docsPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
<header><nav aria-label="Documentation">${LINKS}</nav></header>
<main>${body}</main>
</html>
`
}

let slugs = createSlugs()

/** Links to files that are not served become text, and so do raw HTML and images. Comments are left out. */
const marked = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      return `<h${depth} id="${slugs(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
    },
    link({ href, tokens }) {
      const inner = this.parser.parseInline(tokens)
      const address = docsAddress(href)
      return address === undefined ? inner : `<a href="${escaped(address)}">${inner}</a>`
    },
    image: ({ text }) => `<em>${escaped(text)}</em>`,
    code: ({ text }) => codeBlock(text),
    html: ({ text }) => (text.startsWith('<!--') ? '' : escaped(text)),
  },
})

export function markdown(text = ''): string {
  slugs = createSlugs()
  return marked.parse(text, { async: false })
}

/** A block may be wider than the screen. It can be scrolled with the keyboard too. */
export function codeBlock(text: string): string {
  return `<pre tabindex="0"><code>${escaped(text)}</code></pre>\n`
}

export function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** What writes each address of the guides: the pages, their Markdown, and the list of them for language models. */
export function guides(): Record<string, () => string> {
  const pages = [...DOCS_FILES].flatMap(([name, page]) => [
    [`/docs/${name}`, () => docsPage(`${page.title} · farewatch`, markdown(readDocs(page)))],
    [`/docs/${name}.md`, () => withServedLinks(readDocs(page))],
  ])
  return { ...Object.fromEntries(pages), '/llms.txt': writeList }
}

/** The Markdown with links to what is served as Markdown; the text alone of other links and of images. */
function withServedLinks(text: string): string {
  return text.replace(/!?\[([^\]]*)\]\(([^)\s]+)\)/g, (whole, label: string, href: string) => {
    const address = whole.startsWith('!') ? undefined : docsAddress(href, '.md')
    return address === undefined ? label : `[${label}](${address})`
  })
}

/** The form is that of https://llmstxt.org. */
function writeList(): string {
  const lines = [...DOCS_FILES].map(
    ([name, { title, about }]) => `- [${title}](/docs/${name}.md): ${about}`,
  )
  return `# farewatch

> Watches flight routes and fares for resellers: history in PostgreSQL, a record of each confirmed change, metrics.

## Documentation

${lines.join('\n')}

## API

- [OpenAPI](/openapi.json): every operation, shape and message
`
}
