import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TObject, TSchema } from 'typebox'
import type { Scope } from '../base/kinds.ts'
import type { Logger } from '../base/logger.ts'
import type { ResellerId } from '../base/reseller-id.ts'
import type { ProblemCode } from './problem-codes.ts'
import { ProblemError } from './problems.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
type Nothing = TObject<Record<never, never>>

/** The request of a call that works on the example data of the tests. A test makes the call. */
export interface Example {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** The declaration of an operation. Validation, types, documentation and tests follow from it. */
interface Declaration<P extends TSchema, Q extends TSchema, B extends TSchema, A> {
  /** Unique, camelCase: the operationId of OpenAPI. */
  readonly id: string
  readonly method: Method
  /** In the form of OpenAPI: `/api/v1/watch-lists/{list}`. */
  readonly path: string
  readonly tag: string
  readonly summary: string
  readonly description?: string
  /** What the key must allow. `any`: every valid key. */
  readonly scope: Scope | 'any'
  readonly params?: P
  /** A parameter that the schema lacks is refused. Lists are separated by commas or repeated. */
  readonly query?: Q
  readonly body?: B
  /** The body may also be `text/csv`, of up to 20 MB: the handler receives it as `csv`, and no `body`. */
  readonly csv?: { readonly about: string; readonly example: string }
  readonly answer: {
    readonly about: string
    /** Default: 200. */
    readonly status?: 200 | 201 | 202 | 204
    /** Default: application/json. */
    readonly type?: string
    /** It allows no additional properties, so that a test finds undocumented ones. */
    readonly schema?: A
    /** Descriptions of the response's own headers. */
    readonly headers?: Readonly<Record<string, string>>
    /** The handler calls `isNotModified` with a date and may answer 304. */
    readonly versioned?: true
    /** The address of what was made, for the header `Location`; members of the answer are in braces. */
    readonly location?: string
  }
  /** A POST that makes something: it takes an `Idempotency-Key`. Its handler writes through `db` alone. */
  readonly repeatable?: true
  /** The response lasts until the client leaves. It counts as one of the streams of a key, and not as a request. */
  readonly streams?: true
  /** The account of operators, which has endpoints, and neither watches nor keys, may call it too. */
  readonly ofEndpoints?: true
  /** What the log says of each success, in lower case, with the parameters of the path. Its handler needs `log`. */
  readonly logs?: string
  /** Problems in addition to those that every operation may answer. */
  readonly problems?: readonly ProblemCode[]
  /**
   * The operation is part of the upstream's own interface: it also takes the key as `accessToken` in the query, and it
   * ignores unknown parameters and names them in the header `farewatch-ignored`.
   */
  readonly upstream?: true
  /** Needed if the operation has path parameters or a body. */
  readonly example?: Example
}

/**
 * Runs work that waits for something else than the database: for a record, or for the upstream. Meanwhile another
 * handler of the key may run in the place of the caller, which is taken again before the result is returned.
 */
export type WhileWaiting = <T>(work: () => Promise<T>) => Promise<T>

/** A body of CSV. It can be read again. */
export interface CsvBody {
  readonly name: string
  readonly read: () => AsyncIterable<Buffer>
}

/** A request that is authorized and validated. */
export interface Checked<P, Q, B> {
  readonly params: P
  readonly query: Q
  readonly body: B
  readonly csv?: CsvBody | undefined
  readonly caller: Caller
  /** Handlers that waited call it before they answer. It throws if the key has been revoked meanwhile. */
  readonly reauthorize: () => Promise<void>
  readonly whileWaiting: WhileWaiting
  /** Gives a handler the headers, and the event of a client that disconnects. */
  readonly request: FastifyRequest
  /** Lets a handler set a status or headers. A handler that sends the response itself returns this object. */
  readonly reply: FastifyReply
}

/** What a handler may return for a schema: TypeBox derives mutable types, and the models are readonly. */
type Immutable<T> = T extends Date
  ? T
  : T extends object
    ? { readonly [N in keyof T]: Immutable<T[N]> }
    : T

type Spec<
  D,
  P extends TSchema,
  Q extends TSchema,
  B extends TSchema,
  A extends TSchema,
  Hidden extends string,
> = Declaration<P, Q, B, A> & {
  /** PATCH and PUT of what two people may edit: locks it until the transaction ends. It takes `If-Match`. */
  readonly lock?: (deps: D, request: { readonly params: Static<P> }) => Promise<unknown>
  readonly handler: (
    deps: D,
    request: Omit<Checked<Static<P>, Static<Q>, Static<B>>, Hidden>,
  ) => Promise<Immutable<Static<A>> | FastifyReply>
}

type AnyDeclaration = Declaration<TSchema, TSchema, TSchema, TSchema>

/** A request whose caller may have no key. */
type Asked = Omit<Checked<unknown, unknown, unknown>, 'caller'> & {
  readonly caller: Caller | UnknownCaller
}

/** A declared operation without the types of its schemas. */
export interface Operation<D> extends AnyDeclaration {
  readonly example: Example
  /** Which callers may call it, in addition to the scope. */
  readonly audience: 'everybody' | 'anyone' | 'resellers' | 'operators'
  run(deps: D, request: Asked): Promise<unknown>
  lock?(deps: D, request: Asked): Promise<unknown>
}

/** A request that is answered once for its name. */
export interface Repeatable {
  readonly keyId: number
  /** The text of the caller's key. */
  readonly secret: string
  /** The `Idempotency-Key`. */
  readonly name: string
  /** All that makes the request what it is. */
  readonly request: Buffer
}

/** An answer as it is sent again. */
export interface KeptAnswer {
  readonly status: number
  readonly location: string | null
  readonly body: string
}

/** The transactions of the database that handlers depend on. Work may run again after a deadlock. */
export interface Transactions<D> {
  /** Runs work in one transaction, in which its dependencies write. */
  run<T>(deps: D, work: (deps: D) => Promise<T>): Promise<T>
  /** Makes an answer in one transaction and keeps it, or returns the one that is kept. */
  once(deps: D, request: Repeatable, make: (deps: D) => Promise<KeptAnswer>): Promise<KeptAnswer>
}

/** The reseller of the key. */
type Owner = Omit<ResellerCaller, 'kind' | keyof AnyCaller>

/** What a client of this program knows of an operation: its method and path below the root, and the type of its answer. */
interface Declared<M extends Method, Path extends string, A> {
  /** No operation has it: it carries types alone. */
  readonly declared?: {
    readonly name: Path extends `/api/v1${infer Rest}` ? `${M} ${Rest}` : never
    readonly answer: A
  }
}

/** `Hidden` names what the handlers are not given of a request. */
type Declare<In, D, Hidden extends string = never> = <
  M extends Method,
  const Path extends string,
  P extends TSchema = Nothing,
  Q extends TSchema = Nothing,
  B extends TSchema = Nothing,
  A extends TSchema = TSchema,
>(
  spec: Spec<In, P, Q, B, A, Hidden> & { readonly method: M; readonly path: Path },
) => Operation<D> & Declared<M, Path, Static<A>>

/**
 * The functions with which a feature declares its operations. `D` is what their handlers depend on.
 *
 * A `shared` operation answers all callers alike. A `reseller` operation belongs to one reseller: its handler receives
 * the reseller of the key in its dependencies, as a `Tenant`, so that no query can be made without it. An `operator`
 * operation runs the service. An `open` operation needs no key, and its scope means nothing.
 */
export function operations<D extends object>(): {
  readonly open: Declare<D, D, 'caller'>
  readonly shared: Declare<D, D>
  readonly reseller: Declare<D & Owner, D>
  readonly operator: Declare<D, D>
} {
  return {
    open: (spec) => ({ ...erase(spec), audience: 'everybody', run: runOf<D>(spec) }),
    shared: (spec) => ({ ...erase(spec), audience: 'anyone', run: runOf<D>(spec) }),
    operator: (spec) => ({ ...erase(spec), audience: 'operators', run: runOf<D>(spec) }),
    reseller: (spec) => {
      const run = runOf<D & Owner>(spec)
      const lock = spec.lock && runOf<D & Owner>({ handler: spec.lock })
      const owned = (deps: D, { caller }: Asked) => ({ ...deps, ...ownerOf(caller) })
      return {
        ...erase(spec),
        audience: 'resellers',
        run: (deps, request) => run(owned(deps, request), request),
        ...(lock && { lock: (deps, request) => lock(owned(deps, request), request) }),
      }
    },
  }
}

function erase(spec: AnyDeclaration): AnyDeclaration & { readonly example: Example } {
  return { example: {}, ...spec }
}

interface Runnable<D> {
  readonly handler: (deps: D, request: never) => Promise<unknown>
  readonly logs?: string
}

/** The cast of the request is safe: it was validated by the schemas that give the handler its types. */
function runOf<D>({ handler, logs: event }: Runnable<D>) {
  return async (deps: D, request: Asked) => {
    const answer = await handler(deps, request as never)
    const { log } = deps as { readonly log?: Logger }
    if (event && log) logOperation(log, request, { event, ...(request.params as object) })
    return answer
  }
}

function ownerOf(caller: Caller | UnknownCaller): Owner {
  if (caller.kind === 'reseller') {
    const { keyId, resellerId, resellerName } = caller
    return { keyId, resellerId, resellerName }
  }
  throw new ProblemError('access.resellers_only')
}

/**
 * Logs one line for an operator's change to the service: the event, its object, the key and the request. Many people
 * read logs, so the line never holds the text of a key or a request body.
 * @param event constant text in lower case.
 */
export function logOperation(
  log: Logger,
  { caller, request }: Pick<Asked, 'caller' | 'request'>,
  { event, ...object }: { readonly event: string; readonly [name: string]: unknown },
): void {
  log.info({ by: caller.limitKey, requestId: request.id, ...object }, event)
}

interface AnyCaller {
  readonly scopes: readonly Scope[]
  /** Requests with the same limit key share one rate limit. */
  readonly limitKey: string
}

interface ResellerCaller extends AnyCaller {
  readonly kind: 'reseller'
  readonly keyId: number
  readonly resellerId: ResellerId
  readonly resellerName: string
}

export interface OperatorCaller extends AnyCaller {
  readonly kind: 'operator'
  readonly keyId: number
}

/** The reseller or operator on whose behalf a request is made. */
export type Caller = ResellerCaller | OperatorCaller

/** Who calls an open operation. No handler is given it. */
export interface UnknownCaller extends AnyCaller {
  readonly kind: 'unknown'
}

export type KeyCheck = Caller | 'mistyped' | 'unknown'

/** Finds the caller of a request. */
export interface Access {
  /**
   * The caller of a key. Keys that never existed, have expired or are revoked are all `unknown`.
   * @param reseller for whom an operator calls; the key of a reseller calls for itself. Throws `not_found`.
   */
  callerOf(key: string, reseller?: string): Promise<KeyCheck>
}
