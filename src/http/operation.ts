import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TObject, TSchema } from 'typebox'
import type { ResellerId } from '../base/reseller-id.ts'
import type { Caller, Scope } from './caller.ts'
import type { ProblemCode } from './problem-codes.ts'
import { ProblemError } from './problems.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
type Nothing = TObject<Record<never, never>>

/** One call that works on the data of the documentation, and what it answers. A test makes it. */
export interface Example {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** What the documentation shows; the real answer has the same shape. */
  readonly answer: unknown
}

/** What an operation says of itself: validation, types, documentation and tests all follow from it. */
export interface Declaration<P extends TSchema, Q extends TSchema, B extends TSchema, A> {
  /** Unique, camelCase: the operationId of OpenAPI. */
  readonly id: string
  readonly method: Method
  /** As OpenAPI writes it: `/api/v1/watch-lists/{watchListId}`. */
  readonly path: string
  readonly tag: string
  readonly summary: string
  readonly description?: string
  readonly scope: Scope
  readonly params?: P
  /** Closed: a parameter that is not here is refused. Arrays are written with commas. */
  readonly query?: Q
  readonly body?: B
  readonly bodyLimitBytes?: number
  readonly answer: {
    readonly about: string
    /** 200 where missing. */
    readonly status?: 200 | 201 | 202 | 204
    /** application/json where missing. */
    readonly type?: string
    /** Closed, so that a test finds what is sent beyond it. */
    readonly schema?: A
    /** Its own headers, and what they say. */
    readonly headers?: Readonly<Record<string, string>>
    /** Asks `clientHas` with a date: a client that has the answer already hears a 304 in its place. */
    readonly versioned?: true
  }
  /** What it may answer beside what every operation may. */
  readonly problems?: readonly ProblemCode[]
  /**
   * Of the upstream's own interface: it also takes the key as `accessToken` in the query, and parameters that it does
   * not have are ignored and named in the header `farewatch-ignored`.
   */
  readonly upstream?: true
  readonly example: Example
}

/** A request that has passed every check. */
export interface Checked<P, Q, B> {
  readonly params: P
  readonly query: Q
  readonly body: B
  readonly caller: Caller
  /** For who has waited, before the answer: throws where the caller would not be admitted any more. */
  readonly readmit: () => Promise<void>
  /** For headers; aborted connections. */
  readonly request: FastifyRequest
  /** For a status or a header of one's own; return it once it was sent. */
  readonly reply: FastifyReply
}

type Spec<
  D,
  P extends TSchema,
  Q extends TSchema,
  B extends TSchema,
  A extends TSchema,
> = Declaration<P, Q, B, A> & {
  readonly handler: (
    deps: D,
    request: Checked<Static<P>, Static<Q>, Static<B>>,
  ) => Promise<Static<A> | FastifyReply>
}

type AnyDeclaration = Declaration<TSchema, TSchema, TSchema, TSchema>

/** A declared operation, its types checked and forgotten. */
export interface Operation<D> extends AnyDeclaration {
  /** Who may call it, beside the scope. */
  readonly audience: 'anyone' | 'resellers' | 'operators'
  run(deps: D, request: Checked<unknown, unknown, unknown>): Promise<unknown>
}

type Declare<In, D> = <
  P extends TSchema = Nothing,
  Q extends TSchema = Nothing,
  B extends TSchema = Nothing,
  A extends TSchema = TSchema,
>(
  spec: Spec<In, P, Q, B, A>,
) => Operation<D>

/**
 * How a feature declares its operations, `D` being what their handlers need.
 *
 * `shared` is the same for everybody. `reseller` is a reseller's own: its handler is given the reseller of the key
 * together with the rest, as a `Tenant`, so that no query of it can be made without. `operator` is for who runs the
 * service.
 */
export function operations<D extends object>(): {
  readonly shared: Declare<D, D>
  readonly reseller: Declare<D & { readonly resellerId: ResellerId }, D>
  readonly operator: Declare<D, D>
} {
  return {
    shared: (spec) => ({ ...erase(spec), audience: 'anyone', run: runOf<D>(spec.handler) }),
    operator: (spec) => ({ ...erase(spec), audience: 'operators', run: runOf<D>(spec.handler) }),
    reseller: (spec) => {
      const run = runOf<D & { readonly resellerId: ResellerId }>(spec.handler)
      return {
        ...erase(spec),
        audience: 'resellers',
        run: (deps, request) => run({ ...deps, resellerId: resellerOf(request.caller) }, request),
      }
    },
  }
}

function erase(spec: AnyDeclaration): AnyDeclaration {
  return spec
}

/** The request was read by the schemas that the handler's types come from. */
function runOf<D>(handler: (deps: D, request: never) => Promise<unknown>) {
  return (deps: D, request: Checked<unknown, unknown, unknown>) => handler(deps, request as never)
}

function resellerOf(caller: Caller): ResellerId {
  if (caller.kind === 'reseller') return caller.resellerId
  throw new ProblemError('access.resellers_only')
}
