import { readFileSync } from 'node:fs'
import { Marked } from 'marked'
import { createSlugs, DOCS_FILES, docsAddress } from './docs-files.ts'

const STYLE = readFileSync(new URL('docs-html.css', import.meta.url), 'utf8')

const LINKS = [['/docs', 'Operations'], ...[...DOCS_FILES].map(pageLink)]
  .map(([href, title]) => `<a href="${href}">${title}</a>`)
  .join('\n')

function pageLink([name, { title }]: [string, { readonly title: string }]): string[] {
  return [`/docs/${name}`, title]
}

/** A whole page of the documentation. @param asked what was searched for. */
export function docsPage(title: string, body: string, asked = ''): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
<header><nav aria-label="Documentation">${LINKS}</nav>
<form action="/docs/search" role="search"><input type="search" name="q" value="${escaped(asked)}" aria-label="Search the documentation" placeholder="Search"></form></header>
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
