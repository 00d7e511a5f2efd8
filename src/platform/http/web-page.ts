import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { Marked } from 'marked'
import { lazily } from '../base/cache.ts'
import { createEncodedBody, type EncodedBody, isNotModified, sendEncoded } from './responses.ts'

const SOURCES = fileURLToPath(new URL('../../page/', import.meta.url))
const PACKAGES = fileURLToPath(new URL('../../../node_modules/', import.meta.url))

/** The packages that the page imports, by their names in its import map. */
const IMPORTS: Readonly<Record<string, string>> = {
  preact: 'preact/dist/preact.mjs',
  'preact/hooks': 'preact/hooks/dist/hooks.mjs',
  htm: 'htm/dist/htm.mjs',
  uplot: 'uplot/dist/uPlot.esm.js',
  'd3-array': 'd3-array/dist/d3-array.min.js',
  'd3-geo': 'd3-geo/dist/d3-geo.min.js',
  'topojson-client': 'topojson-client/dist/topojson-client.min.js',
}
/** Files of packages that are not modules, by their addresses. */
const FILES: Readonly<Record<string, string>> = {
  '/assets/packages/uplot.css': 'uplot/dist/uPlot.min.css',
  '/assets/packages/land-110m.json': 'world-atlas/land-110m.json',
}
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
}
const IMPORT_MAP_MARK = '{"imports":{}}'

interface Asset {
  readonly type: string
  readonly tag: string
  readonly body: EncodedBody
  readonly policy: string
}

/**
 * Serves the page at / and its modules at /assets, from memory, and how fresh the data is at /freshness. All of it
 * is public: the page shows other data by the API alone.
 */
export function addWebPage(
  server: FastifyInstance,
  { readFreshness }: { readonly readFreshness?: () => Promise<object> },
): void {
  if (readFreshness !== undefined) server.get('/freshness', readFreshness)
  for (const [url, asset] of assets()) {
    server.get(url, (request, reply) => {
      reply.headers({ 'content-type': asset.type, 'content-security-policy': asset.policy })
      if (isNotModified(request, reply, asset)) return reply.code(304).send()
      return sendEncoded(request, reply, asset.body)
    })
  }
}

/** By address. */
const assets = lazily(readAssets)

function readAssets(): Map<string, Asset> {
  const imports = Object.keys(IMPORTS).map((name) => [name, packageUrl(name)])
  const importMap = JSON.stringify({ imports: Object.fromEntries(imports) })
  const policy = policyFor(importMap)
  const assets = new Map<string, Asset>()
  for (const name of readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })) {
    const extension = path.extname(name)
    if (TYPES[extension] === undefined) continue
    const text = readFileSync(path.join(SOURCES, name), 'utf8')
    const isPage = name === 'index.html'
    const body = isPage ? text.replace(IMPORT_MAP_MARK, importMap) : text
    assets.set(isPage ? '/' : `/assets/${name}`, assetOf(body, extension, policy))
  }
  const packages = { ...FILES }
  for (const [name, file] of Object.entries(IMPORTS)) packages[packageUrl(name)] = file
  for (const [url, file] of Object.entries(packages)) {
    const text = readFileSync(path.join(PACKAGES, file), 'utf8')
    // The source maps are not served.
    const body = text.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n')
    assets.set(url, assetOf(body, path.extname(file), policy))
  }
  return assets
}

function packageUrl(name: string): string {
  return `/assets/packages/${name.replace('/', '-')}.js`
}

function assetOf(text: string, extension: string, policy: string): Asset {
  const tag = createHash('sha256').update(text).digest('base64url').slice(0, 16)
  const type = TYPES[extension] ?? 'application/octet-stream'
  return { type, tag, body: createEncodedBody(Buffer.from(text)), policy }
}

/** Browsers run our modules and the import map, which is known by its hash, and connect to us alone. */
function policyFor(importMap: string): string {
  const hash = createHash('sha256').update(importMap).digest('base64')
  return [
    "default-src 'none'",
    `script-src 'self' 'sha256-${hash}'`,
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

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
