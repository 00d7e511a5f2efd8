import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { messageOf } from '../../platform/base/errors.ts'
import { headersFor, openRunningApi, ROOT } from '../api-client.ts'
import type { ProgramOptions } from '../describe.ts'
import { EXIT, UsageError } from '../exit-codes.ts'
import { writeOut } from '../terminal.ts'

export interface ApiFlags extends ProgramOptions {
  readonly data?: string
  readonly reseller?: string
  readonly keyFile?: string
  readonly url?: string
}

const METHODS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])

/** Calls the API with any request, and prints the answer as it comes. */
export async function callApi(
  given: string,
  path: string | undefined,
  { data, reseller, ...flags }: ApiFlags,
): Promise<number> {
  const method = given.toUpperCase()
  if (!METHODS.has(method)) {
    throw new UsageError(`${given} is not one of ${[...METHODS].join(', ')}`)
  }
  if (path === undefined) throw new UsageError('name a path, such as "/status"')
  const send = await openRunningApi(flags)
  const body = await readBody(data)
  const response = await send(`${ROOT}/${path.replace(/^(\/api\/v1)?\//, '')}`, {
    method,
    headers: headersFor({ reseller, body }),
    ...(body !== undefined && { body }),
  })
  const isShown = process.stdout.isTTY && response.headers.get('content-type')?.includes('json')
  if (isShown) await writeOut(`${JSON.stringify(await response.json(), null, 2)}\n`)
  else await copyOut(response)
  return response.ok ? EXIT.ok : EXIT.failed
}

async function copyOut({ body }: Response): Promise<void> {
  if (body === null) return
  for await (const part of body.pipeThrough(new TextDecoderStream())) await writeOut(part)
}

async function readBody(data: string | undefined): Promise<string | undefined> {
  if (data === '-') return text(process.stdin)
  if (data === undefined || !data.startsWith('@')) return data
  return readFile(data.slice(1), 'utf8').catch((err: unknown) => {
    throw new UsageError(`--data ${data}: cannot be read (${messageOf(err)})`, { cause: err })
  })
}
