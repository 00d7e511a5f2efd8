import path from 'node:path'
import compress from '@fastify/compress'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { lazily } from '../base/cache.ts'
import { type AddOperationsOptions, addNoOperation, addOperations } from './add-operations.ts'
import { apiPage } from './api-page.ts'
import { docsPage, escaped, markdown } from './docs-html.ts'
import { guides, searchPage } from './docs-site.ts'
import { PROBLEMS, problemPage } from './problem-codes.ts'
import { ProblemError, problemCodeOf } from './problems.ts'
import { addJsonBodies } from './read-body.ts'
import { addRequestLimits, type RequestLimitOptions } from './request-limits.ts'
import { COMPRESS_FROM_BYTES, ENCODINGS } from './responses.ts'
import { createHttpServer, type HttpServer, type HttpServerOptions } from './server.ts'
import { addFiles, addWebPage, assetOf, sendAsset } from './web-page.ts'

interface ApiOptions<D>
  extends HttpServerOptions,
    RequestLimitOptions,
    Omit<AddOperationsOptions<D>, 'limits'> {
  /** The OpenAPI document, served at /openapi.json and /docs. */
  readonly document: object
  /** What everybody may know: how old the data is. */
  readonly readFreshness?: () => Promise<object>
  /** Called once for every request that ends. */
  readonly onAnswered?: ((answered: Answered) => void) | undefined
}

/** How a request ended. */
export interface Answered {
  /** The operation's id; `none` for the documentation and for addresses that do not exist. */
  readonly operation: string
  readonly status: number
  /** The code of the problem that was sent; empty if there was none. */
  readonly code: string
  readonly durationMs: number
}

const MAX_ADDRESS_CHARS = 8_000

/** Headers of every response: browsers run, frame and cache nothing of it, and it depends on the key. */
const HEADERS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
  vary: 'authorization, accept-encoding',
}

/** Creates the API's server: the operations, their documentation, and the rules that all of them share. */
export function createApi<D>(options: ApiOptions<D>): HttpServer {
  const server = createHttpServer({ ...options, headers: HEADERS })
  // A foreign page can send text/plain without a preflight request. It cannot send JSON.
  server.removeContentTypeParser('text/plain')
  addJsonBodies(server)
  server.addHook('onRequest', async (request) => {
    if (request.url.length > MAX_ADDRESS_CHARS) throw new ProblemError('request.address_too_long')
    // A compressed body could expand to gigabytes.
    if (request.headers['content-encoding'] !== undefined) {
      throw new ProblemError('request.unsupported_type', {
        parameter: 'Content-Encoding',
        detail: 'a body may not be compressed',
      })
    }
  })
  const limits = addRequestLimits(server, options)
  reportAnswers(server, options)
  addNoOperation(server, options.operations, limits)
  // The hook of the compression sees only routes that are added later. The documentation needs no key, so it comes before:
  // a caller without a key cannot make the server compress.
  addWebPage(server, limits)
  server.register((scope, _options, done) => {
    scope.addHook('onRequest', (request, reply) => limits.count(request, reply))
    addDocsPages(scope, options.document)
    if (options.readFreshness !== undefined) scope.get('/freshness', options.readFreshness)
    done()
  })
  server.register(compress, {
    encodings: [...ENCODINGS],
    threshold: COMPRESS_FROM_BYTES,
    globalDecompression: false,
  })
  server.register((scope, _options, done) => {
    addOperations(scope, { ...options, limits })
    done()
  })
  return server
}

function reportAnswers<D>(server: HttpServer, { onAnswered }: ApiOptions<D>): void {
  if (onAnswered === undefined) return
  server.addHook('onResponse', (request, reply, done) => {
    const { operation = 'none' } = request.routeOptions.config as { operation?: string }
    const code = problemCodeOf(reply) ?? ''
    onAnswered({ operation, status: reply.statusCode, code, durationMs: reply.elapsedTime })
    done()
  })
}

/** The pages of the documentation run no scripts and load nothing. Their styles are inline. */
const DOCS_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

/**
 * Serves the OpenAPI document at /openapi.json, a page to read it at /docs, the guides with a search over them, and a page
 * for each code of a problem. They need no key. Each but the search is written, and compressed for each encoding, once.
 */
function addDocsPages(server: FastifyInstance, document: object): void {
  const pages = {
    '/openapi.json': () => JSON.stringify(document),
    '/docs': () => apiPage(document),
    ...guides(),
    ...problemPages(),
  }
  const senders = Object.entries(pages).map(([url, write]) => [url, sender(url, write)] as const)
  addFiles(server, senders)
  server.get<{ Querystring: { q?: unknown } }>('/docs/search', (request, reply) => {
    const { q } = request.query
    reply.type('text/html; charset=utf-8').header('content-security-policy', DOCS_POLICY)
    return reply.send(searchPage(typeof q === 'string' ? q : ''))
  })
}

/** The pages to which the `type` of a problem leads, by their addresses. */
function problemPages(): Record<string, () => string> {
  const pages = Object.entries(PROBLEMS).map(([code, { status, title, cause, remedy }]) => {
    const write = () => {
      const head = `<h1>${escaped(title)}</h1>\n<p><code>${code}</code>, status ${status}</p>\n`
      const body = `${head}<h2>Cause</h2>\n${markdown(cause)}<h2>Remedy</h2>\n${markdown(remedy)}`
      return docsPage(title, body)
    }
    return [problemPage(code), write]
  })
  return Object.fromEntries(pages)
}

function sender(url: string, write: () => string) {
  const written = lazily(() => assetOf(write(), path.extname(url)))
  return (request: FastifyRequest, reply: FastifyReply) =>
    sendAsset(request, reply, { asset: written(), policy: DOCS_POLICY })
}
