import compress from '@fastify/compress'
import { type AddOperationsOptions, addNoEndpoint, addOperations } from './add-operations.ts'
import { addJsonBodies } from './body/json-body.ts'
import { addDocsPages } from './document/docs-pages.ts'
import { COMPRESS_FROM_BYTES, ENCODINGS } from './encodings.ts'
import { ProblemError } from './problems.ts'
import { createHttpServer, type HttpServer, type HttpServerOptions } from './server.ts'

export interface ApiOptions<D> extends HttpServerOptions, AddOperationsOptions<D> {
  /** The OpenAPI document that is shown. */
  readonly document: object
  /** Called once for every request that ends, to count it. */
  readonly onAnswered?: ((answered: Answered) => void) | undefined
}

/** How a request ended. */
export interface Answered {
  /** The operation's id; `none` for the documentation and for what does not exist. */
  readonly operation: string
  readonly status: number
  readonly durationMs: number
}

const MAX_ADDRESS_CHARS = 8_000

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
  addJsonBodies(server)
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
  tellAnswers(server, options)
  addNoEndpoint(server, options)
  server.register(compress, {
    encodings: [...ENCODINGS],
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

function tellAnswers<D>(server: HttpServer, { onAnswered }: ApiOptions<D>): void {
  if (onAnswered === undefined) return
  server.addHook('onResponse', (request, reply, done) => {
    const { operation = 'none' } = request.routeOptions.config as { operation?: string }
    onAnswered({ operation, status: reply.statusCode, durationMs: reply.elapsedTime })
    done()
  })
}
