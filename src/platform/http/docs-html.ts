import { readFileSync } from 'node:fs'
import { Marked } from 'marked'

const STYLE = readFileSync(new URL('docs-html.css', import.meta.url), 'utf8')

/** A whole page of the documentation. */
export function docsPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
<main>${body}</main>
</html>
`
}

/** Links to other pages of the documentation become text, because only this page is served. */
const marked = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      const inner = this.parser.parseInline(tokens)
      return `<h${depth} id="${text.toLowerCase()}">${inner}</h${depth}>\n`
    },
    link({ href, tokens }) {
      const inner = this.parser.parseInline(tokens)
      return href.startsWith('#') ? `<a href="${href}">${inner}</a>` : inner
    },
    code: ({ text }) => codeBlock(text),
    html: ({ text }) => escaped(text),
  },
})

export function markdown(text = ''): string {
  return marked.parse(text, { async: false })
}

/** A block may be wider than the screen. It can be scrolled with the keyboard too. */
export function codeBlock(text: string): string {
  return `<pre tabindex="0"><code>${escaped(text)}</code></pre>\n`
}

export function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
}
