import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { lazily } from '../base/cache.ts'
import type { RequestLimits } from './request-limits.ts'
import { createEncodedBody, type EncodedBody, isNotModified, sendEncoded } from './responses.ts'

const SOURCES = fileURLToPath(new URL('../../page/', import.meta.url))
const PACKAGES = fileURLToPath(new URL('../../../node_modules/', import.meta.url))

/** The packages that the page imports, by their names in its import map. */
const IMPORTS: Readonly<Record<string, string>> = {
  preact: 'preact/dist/preact.mjs',
  'preact/hooks': 'preact/hooks/dist/hooks.mjs',
  htm: 'htm/dist/htm.mjs',
  'd3-array': 'd3-array/dist/d3-array.min.js',
  'd3-geo': 'd3-geo/dist/d3-geo.min.js',
  'topojson-client': 'topojson-client/dist/topojson-client.min.js',
}
/** The modules of other rooms that the page runs too, without their types. Relative imports lead to the same addresses. */
const SHARED = [
  'delivery/formats/event-text.ts',
  'platform/base/change-kinds.ts',
  'platform/base/money.ts',
  'platform/base/text.ts',
  'platform/base/vocabulary.ts',
]
/** Files of packages that are not modules, by their addresses. */
const FILES: Readonly<Record<string, string>> = {
  '/assets/packages/land-110m.json': 'world-atlas/land-110m.json',
}
const HTML = 'text/html; charset=utf-8'
const TYPES: Readonly<Record<string, string>> = {
  '.html': HTML,
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
}
const KEPT = { 'cache-control': 'public, max-age=31536000, immutable' }
const IMPORT_MAP_MARK = '{"imports":{}}'
/** Without links to all modules, a browser learns of each only from the one that imports it, five times one after another. */
const MODULES_MARK = '<!-- modules -->'

interface Asset {
  readonly type: string
  readonly tag: string
  readonly body: EncodedBody
}

interface Page {
  readonly html: Asset
  /** By their plain addresses. */
  readonly files: ReadonlyMap<string, Asset>
  readonly policy: string
}

/**
 * Serves the page at /, from memory. All of it is public: the page shows data by the API alone. A browser keeps what has
 * the hash of its contents in its name, so that it counts against no limit.
 */
export function addWebPage(server: FastifyInstance, { count }: Pick<RequestLimits, 'count'>): void {
  const { html, files, policy } = page()
  const sendNow = (asset: Asset): Send => {
    return async (request, reply) => {
      await count(request, reply)
      return sendAsset(request, reply, { asset, policy })
    }
  }
  const sendHashed = ({ type, body }: Asset): Send => {
    return (request, reply) => sendEncoded(request, reply.type(type).headers(KEPT), body)
  }
  const senders = [...files].flatMap(([url, asset]) => [
    // The plain address is for what the import map does not cover, such as images.
    [url, sendNow(asset)] as const,
    [hashedUrl(url, asset), sendHashed(asset)] as const,
  ])
  addFiles(server, [['/', sendNow(html)], ...senders])
}

type Send = (request: FastifyRequest, reply: FastifyReply) => FastifyReply | Promise<FastifyReply>

/** Serves files by their addresses, those of a folder by one route: to add a route costs more than all its requests. */
export function addFiles(server: FastifyInstance, files: Iterable<readonly [string, Send]>): void {
  const senders = new Map(files)
  const routes = [...senders.keys()].map((url) => url.replace(/^(\/[^/]+\/).*/, '$1*'))
  for (const route of new Set(routes)) {
    server.get<{ Params: { '*'?: string } }>(route, (request, reply) => {
      const send = senders.get(route.replace('*', request.params['*'] ?? ''))
      return send === undefined ? reply.callNotFound() : send(request, reply)
    })
  }
}

/** Sends what the address holds now. A browser asks each time whether it has changed. */
export function sendAsset(
  request: FastifyRequest,
  reply: FastifyReply,
  { asset, policy }: { readonly asset: Asset; readonly policy: string },
): FastifyReply | Promise<FastifyReply> {
  reply.type(asset.type).header('content-security-policy', policy)
  if (isNotModified(request, reply, asset)) return reply.code(304).send()
  return sendEncoded(request, reply, asset.body)
}

/** @example '/assets/views/now.js' becomes '/assets/views/now-4xF3….js' */
function hashedUrl(url: string, { tag }: Asset): string {
  const extension = path.extname(url)
  return `${url.slice(0, -extension.length)}-${tag}${extension}`
}

/**
 * The import map gives each module the name with its hash: modules name each other by plain addresses, and no build
 * step rewrites them.
 */
const page = lazily((): Page => {
  const files = readFiles()
  const hashed = (url: string) => {
    const asset = files.get(url)
    return asset === undefined ? url : hashedUrl(url, asset)
  }
  const modules = [...files.keys()].filter((url) => !url.endsWith('.css'))
  const preloads = modules
    .filter((url) => /\.[jt]s$/.test(url))
    .map((url) => `<link rel="modulepreload" href="${hashed(url)}">`)
  const imports = [
    ...Object.keys(IMPORTS).map((name) => [name, hashed(packageUrl(name))]),
    ...modules.map((url) => [url, hashed(url)]),
  ]
  const importMap = JSON.stringify({ imports: Object.fromEntries(imports) })
  const text = readFileSync(path.join(SOURCES, 'index.html'), 'utf8')
    .replaceAll(/"(\/assets\/[^"]+)"/g, (_whole, url: string) => `"${hashed(url)}"`)
    .replace(IMPORT_MAP_MARK, importMap)
    .replace(MODULES_MARK, preloads.join('\n'))
  return { html: assetOf(text, '.html'), files, policy: policyFor(importMap) }
})

function readFiles(): Map<string, Asset> {
  const files = new Map<string, Asset>()
  for (const name of readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })) {
    const extension = path.extname(name)
    if (TYPES[extension] === undefined || name === 'index.html') continue
    files.set(`/assets/${name}`, assetOf(readFileSync(path.join(SOURCES, name), 'utf8'), extension))
  }
  for (const name of SHARED) {
    const text = readFileSync(path.join(SOURCES, '..', name), 'utf8')
    files.set(`/${name}`, assetOf(stripTypeScriptTypes(text), '.js'))
  }
  const packages = { ...FILES }
  for (const [name, file] of Object.entries(IMPORTS)) packages[packageUrl(name)] = file
  for (const [url, file] of Object.entries(packages)) {
    const text = readFileSync(path.join(PACKAGES, file), 'utf8')
    // The source maps are not served.
    const body = text.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n')
    files.set(url, assetOf(body, path.extname(file)))
  }
  return files
}

function packageUrl(name: string): string {
  return `/assets/packages/${name.replace('/', '-')}.js`
}

export function assetOf(text: string, extension: string): Asset {
  const tag = createHash('sha256').update(text).digest('base64url').slice(0, 16)
  const type = TYPES[extension] ?? HTML
  return { type, tag, body: createEncodedBody(Buffer.from(text)) }
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
