import { API_OPERATIONS, type ApiDeps } from '../../src/app/api-operations.ts'
import type { Operation } from '../../src/platform/http/operation.ts'
import { type Answer, ask } from '../support/api-server.ts'
import type { Seed } from './seed.ts'

export type AnyOperation = Operation<ApiDeps>

/** Every operation with its id, as the cases of a test. */
export const EVERY: readonly (readonly [string, AnyOperation])[] = API_OPERATIONS.map(
  (operation) => [operation.id, operation],
)

/** The operations that need a key. */
export const KEYED = EVERY.filter(([, { audience }]) => audience !== 'everybody')

export interface CallArgs {
  readonly key?: string | undefined
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>> | string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

const DEADLINE_MS = 20_000

/** Calls an operation with its example request and the given changes. */
export function call(base: string, operation: AnyOperation, args: CallArgs = {}): Promise<Answer> {
  const { example, method } = operation
  const params = { ...example.params, ...args.params }
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) =>
    encodeURIComponent((params[name] ?? 'x').toWellFormed()),
  )
  const query = args.query ?? example.query ?? {}
  const search = typeof query === 'string' ? query : new URLSearchParams(query).toString()
  const body = 'body' in args ? args.body : example.body
  return ask(`${base}${path}${search === '' ? '' : `?${search}`}`, {
    method,
    signal: AbortSignal.timeout(DEADLINE_MS),
    headers: {
      ...(args.key === undefined ? {} : { authorization: `Bearer ${args.key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...args.headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
}

/** A key that may call the operation. */
export function rightKey({ keys }: Seed, { audience }: AnyOperation): string {
  return audience === 'operators' ? keys.operator : keys.alpha
}
