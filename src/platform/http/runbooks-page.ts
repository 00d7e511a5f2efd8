import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { Marked } from 'marked'

const PAGE = new URL('../../../docs/reference/runbooks.md', import.meta.url)
const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
const HEAD = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Runbooks of farewatch</title>
<style>
body { font: 16px/1.5 sans-serif; max-width: 50em; margin: 2em auto; padding: 0 1em }
pre { overflow-x: auto; background: #eee; padding: 0.5em }
:target { background: #fe8 }
</style>
`

/** Links to other pages of the documentation become text, because only this page is served. */
const markdown = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      const inner = this.parser.parseInline(tokens)
      return `<h${depth} id="${text.toLowerCase()}">${inner}</h${depth}>\n`
    },
    link({ href, tokens }) {
      const inner = this.parser.parseInline(tokens)
      return href.startsWith('#') ? `<a href="${href}">${inner}</a>` : inner
    },
  },
})

/** Serves the runbooks at /docs/runbooks without a key. Each alert links to its section there. */
export function addRunbooksPage(server: FastifyInstance): void {
  const html = `${HEAD}${markdown.parse(readFileSync(PAGE, 'utf8'), { async: false })}</html>\n`
  server.get('/docs/runbooks', (_request, reply) =>
    reply
      .headers({ 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY })
      .send(html),
  )
}
