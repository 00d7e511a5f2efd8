import compress from '@fastify/compress'
import { type AddOperationsOptions, addNoEndpoint, addOperations } from './add-operations.ts'
import { addDocsPages } from './docs-pages.ts'
import { ProblemError } from './problems.ts'
import { createHttpServer, type HttpServer, type HttpServerOptions } from './server.ts'

export interface ApiOptions<D> extends HttpServerOptions, AddOperationsOptions<D> {
  /** The OpenAPI document that is shown. */
  readonly document: object
}

const MAX_ADDRESS_CHARS = 8_000
/** Smaller answers are not worth the work. */
const COMPRESS_FROM_BYTES = 1_024

/** Of every answer: nothing in it runs, frames or refers; nothing keeps it; it depends on the key. */
const HEADERS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
  vary: 'authorization, accept-encoding',
}

/** The API's server: operations, their documentation, and the manners that all of them share. */
export function createApi<D>(options: ApiOptions<D>): HttpServer {
  const server = createHttpServer({ ...options, headers: HEADERS })
  // What a page of a stranger can send without asking first is no JSON.
  server.removeContentTypeParser('text/plain')
  server.addHook('onRequest', async (request) => {
    if (request.url.length > MAX_ADDRESS_CHARS) throw new ProblemError('request.address_too_long')
    // A compressed body could unfold to gigabytes.
    if (request.headers['content-encoding'] !== undefined) {
      throw new ProblemError('request.unsupported_type', {
        parameter: 'Content-Encoding',
        detail: 'a body may not be compressed',
      })
    }
  })
  addNoEndpoint(server, options)
  server.register(compress, {
    encodings: ['br', 'gzip'],
    threshold: COMPRESS_FROM_BYTES,
    globalDecompression: false,
  })
  // Later than the compression, which looks at every route as it is added.
  server.register((scope, _options, done) => {
    addOperations(scope, options)
    addDocsPages(scope, options.document)
    done()
  })
  return server
}
