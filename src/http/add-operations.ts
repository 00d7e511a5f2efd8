import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import { type AdmitDeps, admit, readmit, spend } from './admit.ts'
import { bodyReader } from './body/read-body.ts'
import type { Caller } from './caller.ts'
import { checkQuery } from './check-query.ts'
import type { Operation } from './operation.ts'
import { ProblemError } from './problems.ts'
import { parameterReader, propertiesOf } from './read-request.ts'

export interface AddOperationsOptions<D> extends AdmitDeps {
  readonly operations: readonly Operation<D>[]
  /** What the handlers work with. */
  readonly deps: D
}

/** Gives the server its operations: each is admitted, read by its schemas, run, and its answer sent. */
export function addOperations<D>(server: FastifyInstance, options: AddOperationsOptions<D>): void {
  const callers = new WeakMap<FastifyRequest, Caller>()
  for (const operation of options.operations) {
    const answer = answerOf(operation, options)
    server.route({
      method: operation.method,
      url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      config: { operation: operation.id },
      ...(operation.bodyLimitBytes === undefined ? {} : { bodyLimit: operation.bodyLimitBytes }),
      // Before the body is read: nobody sends us megabytes without a key.
      onRequest: async (request, reply) => {
        callers.set(request, await admit(options, operation, { request, reply }))
      },
      handler: (request, reply) => {
        const caller = callers.get(request)
        if (caller === undefined) throw new Error('the request was not admitted')
        return answer(request, reply, caller)
      },
    })
  }
}

function answerOf<D>(operation: Operation<D>, { access, deps }: AddOperationsOptions<D>) {
  const { params, query, body, upstream, answer } = operation
  const readParams = params === undefined ? undefined : parameterReader(params)
  const readQuery = query === undefined ? undefined : parameterReader(query)
  const readBody = body === undefined ? undefined : bodyReader(body)
  const known = new Set(Object.keys(propertiesOf(query)))
  return async (request: FastifyRequest, reply: FastifyReply, caller: Caller) => {
    const given = checkQuery(known, upstream === true, { request, reply })
    const checked = {
      params: readParams?.(request.params as Record<string, unknown>) ?? {},
      query: readQuery?.(given) ?? {},
      body: readBody?.(request.body),
      caller,
      readmit: () => readmit({ access }, operation, request),
      request,
      reply,
    }
    // Before the handler, who may say otherwise and send it.
    reply.code(answer.status ?? 200)
    if (answer.type !== undefined) reply.type(answer.type)
    const answered = await operation.run(deps, checked)
    if (reply.sent || answered === reply) return reply
    return answer.status === 204 ? reply.send() : reply.send(answered)
  }
}

/** Tells an address that does not exist from one that lacks the method, before a body is read. */
export function addNoEndpoint<D>(server: FastifyInstance, options: AddOperationsOptions<D>): void {
  const known = pathsOf(options.operations)
  server.addHook('onRequest', async (request, reply) => {
    if (!request.is404) return
    spend(options.limit, `address ${request.ip}`, reply)
    const [path = ''] = request.url.split('?')
    const methods = known.find(({ pattern }) => pattern.test(path))?.methods
    if (methods === undefined) throw new ProblemError('request.no_endpoint')
    const allow = methods.join(', ')
    throw new ProblemError('request.no_method', {
      headers: { allow },
      detail: `the endpoint has ${allow}`,
    })
  })
}

interface KnownPath {
  readonly pattern: RegExp
  readonly methods: readonly (HTTPMethods | string)[]
}

function pathsOf(operations: readonly Pick<Operation<never>, 'path' | 'method'>[]): KnownPath[] {
  const byPath = Map.groupBy(operations, ({ path }) => path)
  return [...byPath].map(([path, ofPath]) => {
    const pattern = RegExp.escape(path).replaceAll(/\\\{\w+\\\}/g, '[^/]+')
    const methods = ofPath.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    return { pattern: new RegExp(`^${pattern}$`), methods }
  })
}
