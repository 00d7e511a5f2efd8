import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type AuthorizeDeps, authorize, countRequest, reauthorize } from './authorize.ts'
import { type JsonSize, jsonMeter, sizeOfSchema } from './json-size.ts'
import type { Caller, Operation, Transactions, UnknownCaller, WhileWaiting } from './operation.ts'
import { ProblemError } from './problems.ts'
import { addCsvBodies, bodyReader } from './read-body.ts'
import { checkQuery, parameterReader } from './read-parameters.ts'
import {
  createRequestLimits,
  type LimitedRequest,
  type RequestLimitOptions,
} from './request-limits.ts'
import { safeWrites } from './safe-writes.ts'

export interface AddOperationsOptions<D> extends AuthorizeDeps {
  readonly operations: readonly Operation<D>[]
  /** Passed to every handler. */
  readonly deps: D
  readonly transactions: Transactions<D>
  /** For tests. */
  readonly requestLimits?: RequestLimitOptions
}

interface LimitedCaller {
  readonly caller: Caller | UnknownCaller
  readonly limited: LimitedRequest
}

/**
 * Adds operations as routes: each request is authorized, counted against the limits, validated by the schemas,
 * handled and answered.
 */
export function addOperations<D>(server: FastifyInstance, options: AddOperationsOptions<D>): void {
  const callers = new WeakMap<FastifyRequest, LimitedCaller>()
  const enter = createRequestLimits(options.requestLimits)
  const callerOf = (request: FastifyRequest): LimitedCaller => {
    const found = callers.get(request)
    if (found === undefined) throw new Error('the request was not authorized')
    return found
  }
  for (const operation of options.operations) {
    const handle = createHandler(operation, options)
    const size = operation.body === undefined ? undefined : sizeOfSchema(operation.body)
    const add = (scope: FastifyInstance) =>
      scope.route({
        method: operation.method,
        url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
        config: { operation: operation.id },
        ...(operation.bodyLimitBytes === undefined ? {} : { bodyLimit: operation.bodyLimitBytes }),
        // Before the body is read, so that no client can send megabytes without a key.
        onRequest: async (request, reply) => {
          const caller = await authorize(options, operation, { request, reply })
          const limited = await enter(operation, caller, { request, reply })
          callers.set(request, { caller, limited })
        },
        preParsing: (request, _reply, body, done) => {
          const check = size === undefined || isCsv(request) ? undefined : jsonCheck(size)
          done(null, callerOf(request).limited.countBody(body as Readable, check))
        },
        handler: (request, reply) => {
          const { caller, limited } = callerOf(request)
          return limited.run((whileWaiting) =>
            handle({ request, reply, caller, whileWaiting, countAnswer: limited.countAnswer }),
          )
        },
      })
    if (operation.csv === undefined) {
      add(server)
      continue
    }
    server.register((scope, _options, done) => {
      addCsvBodies(scope)
      add(scope)
      done()
    })
  }
}

function isCsv({ headers }: FastifyRequest): boolean {
  return /^text\/csv/i.test(headers['content-type'] ?? '')
}

/** Refuses a body while it arrives, so that no more of it is kept, read or parsed. */
function jsonCheck(size: JsonSize): (piece: Buffer) => void {
  const isOver = jsonMeter(size)
  return (piece) => {
    if (!isOver(piece)) return
    const { values, depth, names } = size
    throw new ProblemError('request.invalid_body', {
      detail: `the body has over ${values} values, some that lie over ${depth} deep, or an object of over ${names} names`,
    })
  }
}

interface Handling {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly caller: Caller | UnknownCaller
  readonly whileWaiting: WhileWaiting
  readonly countAnswer: LimitedRequest['countAnswer']
}

function createHandler<D>(operation: Operation<D>, options: AddOperationsOptions<D>) {
  const { access, deps } = options
  const writes = safeWrites(operation, options)
  const { params, query, body, upstream, answer } = operation
  const readParams = params === undefined ? undefined : parameterReader(params)
  const readQuery = query === undefined ? undefined : parameterReader(query)
  const readBody = body === undefined ? undefined : bodyReader(body)
  return async ({ request, reply, caller, whileWaiting, countAnswer }: Handling) => {
    const given = checkQuery({ query, upstream: upstream === true }, { request, reply })
    const checked = {
      params: readParams?.(request.params as Record<string, unknown>) ?? {},
      query: readQuery?.(given) ?? {},
      ...(Buffer.isBuffer(request.body)
        ? { body: undefined, csv: request.body }
        : { body: readBody?.(request.body) }),
      caller,
      reauthorize: () => reauthorize({ access }, operation, request),
      whileWaiting,
      request,
      reply,
    }
    // Before the handler, which may set another status and send the response itself.
    reply.code(answer.status ?? 200)
    if (answer.type !== undefined) reply.type(answer.type)
    const answered = await writes.run(deps, checked)
    if (reply.sent || answered === reply) return reply
    if (answer.status === 204) return reply.send()
    const body = typeof answered === 'string' ? answered : reply.serialize(answered)
    countAnswer(Buffer.byteLength(body))
    if (!reply.hasHeader('content-type')) reply.type('application/json; charset=utf-8')
    return reply.send(body)
  }
}

/** Answers 404 for an unknown path and 405 for an unknown method of a known path, before a body is read. */
export function addNoOperation<D>(server: FastifyInstance, options: AddOperationsOptions<D>): void {
  const known = pathsOf(options.operations)
  server.addHook('onRequest', async (request, reply) => {
    if (!request.is404) return
    await countRequest(options.limit, `address ${request.ip}`, reply)
    const [path = ''] = request.url.split('?')
    const methods = known.find(({ pattern }) => pattern.test(path))?.methods
    if (methods === undefined) {
      const detail = 'no operation has this path: /openapi.json lists them'
      throw new ProblemError('not_found', { missing: 'operation', detail })
    }
    const allow = methods.join(', ')
    throw new ProblemError('request.no_method', {
      headers: { allow },
      detail: `the path has ${allow}`,
    })
  })
}

function pathsOf(operations: readonly Pick<Operation<never>, 'path' | 'method'>[]) {
  const byPath = Map.groupBy(operations, ({ path }) => path)
  return [...byPath].map(([path, ofPath]) => {
    const pattern = RegExp.escape(path).replaceAll(/\\\{\w+\\\}/g, '[^/]+')
    const methods = ofPath.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    return { pattern: new RegExp(`^${pattern}$`), methods }
  })
}
