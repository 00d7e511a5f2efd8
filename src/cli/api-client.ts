import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Declared } from '../app/api-operations.ts'
import { AppError, messageOf } from '../platform/base/errors.ts'
import type { ProgramOptions } from './describe.ts'
import { interruptSignal, untilInterrupted } from './exit-codes.ts'

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
  /** A body of CSV, instead of `body`. */
  readonly csv?: string
  /** The reseller for whom an operator calls. */
  readonly reseller?: string | undefined
}

export interface Api {
  /** Throws ApiProblem. */
  call<O extends Operation>(operation: O, call?: Call): Promise<Answer<O>>
  /** As `call`, of an answer that is read in parts. */
  open(operation: Operation, call?: Call): Promise<Reply>
}

/** An answer, whose text must be read: its connection is kept until then. */
export interface Reply {
  /** The origin of the server. */
  readonly from: string
  readonly status: number
  readonly type: string
  readonly body: AsyncIterable<string>
}

interface Sending {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Sends a request to the API with an operator's key. */
export type Send = (path: string, sending: Sending) => Promise<Reply>

const ROOT = '/api/v1'
const JSON_TYPE = 'application/json'

/** Runs work with the API that runs, which is found at the first request, or with one in this process, on the database. */
export async function withApi<T>(
  { database = false }: ProgramOptions,
  work: (api: Api) => Promise<T>,
): Promise<T> {
  if (database) {
    const { withOwnApi } = await import('./work/own-api.ts')
    return withOwnApi((send) => work(createApi(send)))
  }
  let opened: Promise<Send> | undefined
  const send: Send = async (...request) => {
    opened ??= openRunningApi()
    return (await opened)(...request)
  }
  return untilInterrupted(work(createApi(send)), interruptSignal())
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
  return async (path, { headers, ...sending }) => {
    const authorized = { ...headers, authorization: `Bearer ${key}` }
    return transmit(`${base}${path}`, { ...sending, headers: authorized }).catch((err: unknown) => {
      interruptSignal().throwIfAborted()
      throw new NoApiError(base, err)
    })
  }
}

/**
 * The global `fetch`, and what decodes compressed answers, would cost each command 25 MB. An import of `node:http` would
 * load `fetch` too, for the names that it exports.
 */
function transmit(url: string, { method, headers, body }: Sending): Promise<Reply> {
  const isHttps = url.startsWith('https:')
  const { request } = process.getBuiltinModule(isHttps ? 'node:https' : 'node:http')
  const replied = Promise.withResolvers<Reply>()
  const options = { method, headers, signal: interruptSignal() }
  const sent: ClientRequest = request(url, options, (response: IncomingMessage) => {
    const { statusCode: status = 0, headers } = response
    const type = headers['content-type'] ?? ''
    replied.resolve({ from: new URL(url).origin, status, type, body: response.setEncoding('utf8') })
  })
  sent.on('error', replied.reject).end(body)
  return replied.promise
}

export function isOk({ status }: Reply): boolean {
  return status >= 200 && status < 300
}

export async function textOf({ body }: Reply): Promise<string> {
  let text = ''
  for await (const part of body) text += part
  return text
}

export function createApi(send: Send): Api {
  const open: Api['open'] = async (operation, { params = {}, query, body, csv, reseller } = {}) => {
    const [method = '', path = ''] = operation.split(' ')
    const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) =>
      encodeURIComponent(params[name] ?? ''),
    )
    const text = csv ?? (body === undefined ? undefined : JSON.stringify(body))
    const type = csv === undefined ? JSON_TYPE : 'text/csv'
    const reply = await request(send, `${filled}${searchOf(query)}`, {
      method,
      text,
      type,
      reseller,
    })
    if (isOk(reply)) return reply
    const answer = jsonOf(await textOf(reply))
    throw isProblem(answer) ? new ApiProblem(answer) : new OtherAnswerError(reply)
  }
  return {
    open,
    call: async (operation, call) => {
      const reply = await open(operation, call)
      const answer = jsonOf(await textOf(reply))
      if (answer === undefined && reply.status !== 204) throw new OtherAnswerError(reply)
      return answer as never
    },
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

interface Request {
  readonly method: string
  readonly text: string | undefined
  /** The type of the text. */
  readonly type?: string
  readonly reseller: string | undefined
}

/** @param path below the root of the API, with its query. */
export function request(
  send: Send,
  path: string,
  { method, text, type = JSON_TYPE, reseller }: Request,
): Promise<Reply> {
  return send(`${ROOT}${path}`, {
    method,
    headers: {
      ...(reseller !== undefined && { 'farewatch-reseller': encodeURIComponent(reseller) }),
      ...(text !== undefined && { 'content-type': type }),
    },
    ...(text !== undefined && { body: text }),
  })
}

function searchOf(query: Call['query'] = {}): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) given.set(name, String(value))
  }
  return given.size === 0 ? '' : `?${given}`
}

/** What is wrong, and its place in the body. */
export interface Fault {
  readonly detail?: string
  readonly pointer?: string
}

interface Problem extends Fault {
  readonly code: string
  readonly title: string
  /** All faults of the body, if it has several. */
  readonly errors?: readonly Fault[]
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

  constructor({ code, title, errors, ...first }: Problem) {
    const faults = errors ?? [first]
    const texts = faults.map(({ detail = title, pointer = '' }) => {
      const subject = pointer.slice(1).replaceAll('/', '.')
      return PREDICATE.test(detail) && subject !== '' ? `${subject} ${detail}` : detail
    })
    super(texts.join('\n'))
    this.code = code
  }
}

/** A proxy, or another server, has answered. */
class OtherAnswerError extends AppError {
  override readonly name = 'OtherAnswerError'
  override readonly code = 'cli.other_answer'

  constructor({ from, status }: Reply) {
    super(
      `${from} answers with ${status}, and not as farewatch does: is FAREWATCH_URL its address?`,
    )
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
