import { lazily } from '../base/cache.ts'
import { createSlugs, DOCS_FILES, DOCS_SCHEMAS, docsAddress, readDocs } from './docs-files.ts'
import { docsPage, escaped, markdown } from './docs-html.ts'

/** What writes each address of the guides: the pages, their Markdown, and the list of them for language models. */
export function guides(): Record<string, () => string> {
  const pages = [...DOCS_FILES].flatMap(([name, { title, text }]) => [
    [`/docs/${name}`, () => docsPage(`${title} · farewatch`, markdown(text))],
    [`/docs/${name}.md`, () => withServedLinks(text)],
  ])
  const schemas = DOCS_SCHEMAS.map((name) => [`/docs/${name}`, () => readDocs(name)])
  return { ...Object.fromEntries([...pages, ...schemas]), '/llms.txt': writeList }
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
  const lines = [...DOCS_FILES].map(([name, { title }]) => `- [${title}](/docs/${name}.md)`)
  return `# farewatch

> Watches flight routes and fares for resellers: history in PostgreSQL, a record of each confirmed change, metrics.

## Documentation

${lines.join('\n')}

## API

- [OpenAPI](/openapi.json): every operation, shape and message
`
}

interface Section {
  readonly address: string
  readonly page: string
  readonly heading: string
  readonly text: string
}

const sections = lazily(() => [...DOCS_FILES].flatMap(sectionsOf))

/** The text below each heading. A `#` in a block of code is no heading. */
function sectionsOf([name, { title, text }]: [string, { title: string; text: string }]): Section[] {
  const slugOf = createSlugs()
  const found: { heading: string; slug: string; lines: string[] }[] = []
  let isCode = false
  for (const line of text.split('\n')) {
    if (line.startsWith('```')) isCode = !isCode
    const heading = isCode ? undefined : /^#+ (.+)$/.exec(line)?.[1]
    if (heading !== undefined) found.push({ heading, slug: slugOf(heading), lines: [] })
    else if (!line.startsWith('<!--')) found.at(-1)?.lines.push(line)
  }
  return found.map(({ heading, slug, lines }) => ({
    address: `/docs/${name}#${slug}`,
    page: title,
    heading: plain(heading),
    text: plain(lines.join(' ')),
  }))
}

/** Without links, marks of code and of tables. */
function plain(text: string): string {
  return text
    .replace(/\]\([^)\s]+\)/g, ' ')
    .replace(/[`*|[\]]+|\|[-|: ]+\|/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
}

const MOST_FOUND = 30
const MOST_CHARS = 100
const EXCERPT_CHARS = 200

/** The sections that have all words of a text, those first that have them in their heading. */
export function searchDocs(asked: string): Section[] {
  const words = asked.slice(0, MOST_CHARS).toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return []
  const hasAll = (text: string) => words.every((word) => text.toLowerCase().includes(word))
  const found = sections().filter(({ page, heading, text }) => hasAll(`${page} ${heading} ${text}`))
  const rank = ({ heading }: Section) => (hasAll(heading) ? 0 : 1)
  return found.toSorted((a, b) => rank(a) - rank(b)).slice(0, MOST_FOUND)
}

/** The page of what was found. */
export function searchPage(asked: string): string {
  const found = searchDocs(asked)
  const [first = ''] = asked.toLowerCase().split(/\s+/)
  const items = found.map(({ address, page, heading, text }) => {
    const at = Math.max(0, text.toLowerCase().indexOf(first) - EXCERPT_CHARS / 2)
    const excerpt = text.slice(at, at + EXCERPT_CHARS)
    const title = `${escaped(page)}: ${escaped(heading)}`
    return `<dt><a href="${address}">${title}</a></dt><dd>${escaped(excerpt)}</dd>`
  })
  const none = asked === '' ? '' : '<p>No section has these words.</p>'
  const list = items.length === 0 ? none : `<dl>${items.join('\n')}</dl>`
  return docsPage('Search · farewatch', `<h1>Search</h1>\n${list}`, asked)
}
