import { isUtf8 } from 'node:buffer'
import type { FastifyInstance } from 'fastify'
import { ProblemError } from '../problems.ts'

/**
 * Has the server read bodies of JSON: UTF-8, for bytes that are not would be replaced in silence, and two names become
 * one. Where the type says JSON and nothing comes there is no body; whoever needs one says so.
 */
export function addJsonBodies(server: FastifyInstance): void {
  // Refuses names that would change all objects.
  const parse = server.getDefaultJsonParser('error', 'error')
  server.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    (request, bytes: Buffer, done) => {
      if (bytes.length === 0) return done(null, undefined)
      if (!isUtf8(bytes)) return done(invalid('the body is not UTF-8'))
      return parse(request, bytes.toString(), (fault, value) =>
        // Without its message, which may quote the body.
        fault === null ? done(null, value) : done(invalid(NO_JSON)),
      )
    },
  )
}

const NO_JSON = 'the body is not JSON, or one of its names is not allowed'

function invalid(detail: string): ProblemError {
  return new ProblemError('request.invalid_body', { detail })
}
