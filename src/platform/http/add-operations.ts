import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type AuthorizeDeps, authorize, reauthorize } from './authorize.ts'
import type { Caller, Operation, Transactions, UnknownCaller } from './operation.ts'
import { ProblemError } from './problems.ts'
import { addCsvBodies, BodyFile, bodyReader } from './read-body.ts'
import { checkQuery, parameterReader } from './read-parameters.ts'
import { type Place, type RequestLimits, signalOfEnd } from './request-limits.ts'
import { safeWrites } from './safe-writes.ts'

export interface AddOperationsOptions<D> extends AuthorizeDeps {
  readonly operations: readonly Operation<D>[]
  /** Passed to every handler. */
  readonly deps: D
  readonly transactions: Transactions<D>
  readonly limits: RequestLimits
}

interface Entered {
  readonly caller: Caller | UnknownCaller
  readonly place: Place
}

/**
 * Adds operations as routes: each request is authorized, counted against the limits, validated by the schemas,
 * handled and answered.
 */
export function addOperations<D>(server: FastifyInstance, options: AddOperationsOptions<D>): void {
  const callers = new WeakMap<FastifyRequest, Entered>()
  const enteredOf = (request: FastifyRequest): Entered => {
    const found = callers.get(request)
    if (found === undefined) throw new Error('the request was not authorized')
    return found
  }
  const add = (scope: FastifyInstance, operation: Operation<D>) => {
    const handle = createHandler(operation, options)
    scope.route({
      method: operation.method,
      url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      config: { operation: operation.id },
      // Before the body is read, so that no client can send megabytes without a key.
      onRequest: async (request, reply) => {
        const ended = signalOfEnd(reply.raw)
        const caller = await authorize(options, operation, { request, reply })
        const place = await options.limits.enter(operation, caller, ended)
        callers.set(request, { caller, place })
      },
      handler: (request, reply) => handle({ request, reply, ...enteredOf(request) }),
    })
  }
  server.register((files, _options, done) => {
    addCsvBodies(files)
    for (const operation of options.operations) {
      add(operation.csv === undefined ? server : files, operation)
    }
    done()
  })
}

interface Handling extends Entered {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

function createHandler<D>(operation: Operation<D>, options: AddOperationsOptions<D>) {
  const { access, deps } = options
  const writes = safeWrites(operation, options)
  const { answer } = operation
  const read = requestReader(operation)
  return async ({ request, reply, caller, place }: Handling) => {
    const { body: given } = request
    const csv = given instanceof BodyFile ? given : undefined
    try {
      // What is invalid is dropped before it waits for others.
      const checked = { ...read(request, reply, csv), caller, request, reply }
      // Before the handler, which may set another status and send the response itself.
      reply.code(answer.status ?? 200)
      if (answer.type !== undefined) reply.type(answer.type)
      const answered = await place.run((whileWaiting) => {
        const reauthorized = () => reauthorize({ access }, operation, request)
        return writes.run(deps, { ...checked, reauthorize: reauthorized, whileWaiting })
      })
      return send(reply, answered, answer.status)
    } finally {
      await csv?.close()
    }
  }
}

/** Creates the function that validates what a request gives. */
function requestReader<D>({ params, query, body, upstream }: Operation<D>) {
  const readParams = params === undefined ? undefined : parameterReader(params)
  const readQuery = query === undefined ? undefined : parameterReader(query)
  const readBody = body === undefined ? undefined : bodyReader(body)
  return (request: FastifyRequest, reply: FastifyReply, csv: BodyFile | undefined) => {
    const given = checkQuery({ query, upstream: upstream === true }, { request, reply })
    return {
      params: readParams?.(request.params as Record<string, unknown>) ?? {},
      query: readQuery?.(given) ?? {},
      body: csv === undefined ? readBody?.(request.body) : undefined,
      csv,
    }
  }
}

function send(reply: FastifyReply, answered: unknown, status: number | undefined): FastifyReply {
  if (reply.sent || answered === reply) return reply
  if (status === 204) return reply.send()
  if (!reply.hasHeader('content-type')) reply.type('application/json; charset=utf-8')
  return reply.send(typeof answered === 'string' ? answered : reply.serialize(answered))
}

/** Answers 404 for an unknown path and 405 for an unknown method of a known path, before a body is read. */
export function addNoOperation(
  server: FastifyInstance,
  operations: Parameters<typeof pathsOf>[0],
  limits: RequestLimits,
): void {
  const known = pathsOf(operations)
  server.addHook('onRequest', async (request, reply) => {
    if (!request.is404) return
    await limits.count(request, reply)
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
