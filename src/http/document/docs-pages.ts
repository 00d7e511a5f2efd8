import { createHash } from 'node:crypto'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { clientHas } from '../etags.ts'

/** The pages of /docs run scripts of their own origin and nothing else; their styles are partly inline. */
const DOCS_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** /openapi.json, and the same to read and to try out at /docs, from this machine alone. Both need no key. */
export function addDocsPages(server: FastifyInstance, document: object): void {
  const text = JSON.stringify(document)
  const tag = createHash('sha256').update(text).digest('base64url').slice(0, 16)
  server.get('/openapi.json', async (request, reply) => {
    if (clientHas(request, reply, { tag })) return reply.code(304).send()
    return reply.type('application/json').send(text)
  })
  server.register(swagger, { mode: 'static', specification: { document: JSON.parse(text) } })
  server.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: DOCS_POLICY,
    theme: { title: 'farewatch API' },
    uiConfig: { docExpansion: 'list', defaultModelsExpandDepth: -1 },
  })
}
