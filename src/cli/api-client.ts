import type { Declared } from '../app/api-operations.ts'
import { AppError, messageOf } from '../platform/base/errors.ts'
import type { ProgramOptions } from './describe.ts'
import { interruptSignal } from './exit-codes.ts'

/** An operation of the API: `GET /incidents/{incidentId}`. */
export type Operation = Declared['name']

/** What an operation answers, as JSON. */
export type Answer<O extends Operation> = Sent<Extract<Declared, { readonly name: O }>['answer']>
export type Sent<T> = T extends Date
  ? string
  : T extends object
    ? { readonly [Name in keyof T]: Sent<T[Name]> }
    : T

/** An item of a list. */
export type Item<O extends Operation> =
  Answer<O> extends { readonly items: readonly (infer One)[] } ? One : never

type Value = string | number | boolean

export interface Call {
  readonly params?: Readonly<Record<string, Value>>
  readonly query?: Readonly<Record<string, Value | readonly Value[] | undefined>>
  readonly body?: unknown
  /** The reseller for whom an operator calls. */
  readonly reseller?: string | undefined
}

export interface Api {
  /** Throws ApiProblem. */
  call<O extends Operation>(operation: O, call?: Call): Promise<Answer<O>>
}

/** Sends a request to the API with an operator's key. */
export type Send = (path: string, init: RequestInit) => Promise<Response>

export const ROOT = '/api/v1'

/** Runs work with the API that runs, or with one in this process, on the database. */
export async function withApi<T>(
  { database = false }: ProgramOptions,
  work: (api: Api) => Promise<T>,
): Promise<T> {
  if (database) {
    const { withOwnApi } = await import('./work/own-api.ts')
    return withOwnApi((send) => work(createApi(send)))
  }
  return work(createApi(await openRunningApi()))
}

/** The address and the key are those of the settings, or of the farewatch that runs in the home. */
export async function openRunningApi({
  url,
  keyFile,
}: {
  readonly url?: string | undefined
  readonly keyFile?: string | undefined
} = {}): Promise<Send> {
  const [{ loadConfig }, { localUrlOf }, running] = await Promise.all([
    import('../platform/config/config.ts'),
    import('../platform/config/addresses.ts'),
    import('../embedded/running-services.ts'),
  ])
  const config = loadConfig()
  const { FAREWATCH_HOME: home, FAREWATCH_URL, FAREWATCH_KEY } = config
  const known = keyFile === undefined ? FAREWATCH_KEY : undefined
  const file = keyFile ?? running.homeKeyFile(home, 'operator')
  const key = known ?? (await running.readKeyFile(file))
  const local = { ...config, ...(await running.findRunning(home, 'api')) }
  const base = (url ?? FAREWATCH_URL ?? localUrlOf(local)).replace(/\/+$/, '')
  const signal = interruptSignal()
  return (path, { headers, ...init }) =>
    fetch(`${base}${path}`, {
      ...init,
      signal,
      headers: { ...headers, authorization: `Bearer ${key}` },
    }).catch((err: unknown) => {
      signal.throwIfAborted()
      throw new NoApiError(base, err)
    })
}

export function createApi(send: Send): Api {
  return {
    call: async (operation, { params = {}, query = {}, body, reseller } = {}) => {
      const [method = '', path = ''] = operation.split(' ')
      const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) =>
        encodeURIComponent(params[name] ?? ''),
      )
      const response = await send(`${ROOT}${filled}${searchOf(query)}`, {
        method,
        headers: headersFor({ reseller, body }),
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      if (response.status === 204) return undefined as never
      const answer: unknown = await response.json().catch(() => undefined)
      if (response.ok && answer !== undefined) return answer as never
      throw isProblem(answer) ? new ApiProblem(answer) : new OtherAnswerError(response)
    },
  }
}

/** The headers of a request in the name of a reseller, if one is given, and of its body. */
export function headersFor({ reseller, body }: Pick<Call, 'reseller' | 'body'>) {
  return {
    ...(reseller !== undefined && { 'farewatch-reseller': encodeURIComponent(reseller) }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  }
}

function searchOf(query: Call['query'] = {}): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) given.set(name, String(value))
  }
  return given.size === 0 ? '' : `?${given}`
}

interface Problem {
  readonly code: string
  readonly title: string
  readonly detail?: string
  /** The place at fault in the body. */
  readonly pointer?: string
}

function isProblem(answer: unknown): answer is Problem {
  const { code, title } = (answer ?? {}) as Partial<Record<keyof Problem, unknown>>
  return typeof code === 'string' && typeof title === 'string'
}

/** What is said of the place at fault, without its name. */
const PREDICATE = /^(must|is) /

/** The API answered with a problem. */
export class ApiProblem extends AppError {
  override readonly name = 'ApiProblem'
  override readonly code: string

  constructor({ code, title, detail = title, pointer = '' }: Problem) {
    const subject = pointer.slice(1).replaceAll('/', '.')
    super(PREDICATE.test(detail) && subject !== '' ? `${subject} ${detail}` : detail)
    this.code = code
  }
}

/** A proxy, or another server, has answered. */
class OtherAnswerError extends AppError {
  override readonly name = 'OtherAnswerError'
  override readonly code = 'cli.other_answer'

  constructor({ url, status }: Response) {
    const at = URL.parse(url)?.origin ?? 'the server'
    super(`${at} answers with ${status}, and not as farewatch does: is FAREWATCH_URL its address?`)
  }
}

class NoApiError extends AppError {
  override readonly name = 'NoApiError'
  override readonly code = 'cli.no_api'
  override readonly retryable = true

  constructor(url: string, cause: unknown) {
    super(
      `no API answers at ${url} (${messageOf(cause)}): "npm start" runs one, and FAREWATCH_URL says where another one is; ` +
        'with --database the command works on the database itself',
      { cause },
    )
  }
}
