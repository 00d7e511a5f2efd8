import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import { API_OPERATIONS } from '../../app/api-operations.ts'
import { localUrlOf } from '../../app/settings-for.ts'
import { homeKeyFile, readKeyFile } from '../../embedded/home-keys.ts'
import { withRunningApi } from '../../embedded/running-services.ts'
import { AppError, messageOf } from '../../platform/base/errors.ts'
import { type CliContext, createContext } from '../context.ts'
import { EXIT, UsageError, untilInterrupted } from '../exit-codes.ts'
import { writeOut } from '../terminal.ts'
import { example } from '../text/text-format.ts'

interface ApiFlags {
  readonly data?: string
  readonly keyFile?: string
  readonly url?: string
}

interface CallArgs {
  readonly method: string
  readonly given: string | undefined
  readonly flags: ApiFlags
}

const ROOT = '/api/v1'
const METHODS = new Set(['GET', 'POST', 'PATCH', 'DELETE'])

/** Adds what a call of the API needs to the command that otherwise runs it. */
export function addCallArguments(command: Command): Command {
  return command
    .argument('[method]', 'call the API that runs already: GET, POST, PATCH or DELETE')
    .argument('[path]', `the path and query below ${ROOT}`)
    .option('--data <json>', 'the body of a call; @FILE reads a file, and - standard input')
    .option('--key-file <file>', 'a file with a key; unset: the key of the home that may call it')
    .option(
      '--url <url>',
      'where to call; unset: the API that runs for FAREWATCH_HOME, else as API_HOST and API_PORT say',
    )
    .addHelpText('after', 'A call exits with 1 if its answer is an error.')
    .addHelpText('after', example('api', 'api GET "/watch-changes?after=0"'))
}

/** Calls the API of this machine and prints the answer. */
export function callApi(method: string, given: string | undefined, flags: ApiFlags): Promise<void> {
  const context = createContext({ quiet: true })
  return untilInterrupted(call(context, { method, given, flags }), context.signal)
}

async function call(
  { config, signal }: CliContext,
  { method, given, flags }: CallArgs,
): Promise<void> {
  if (!METHODS.has(method.toUpperCase())) {
    throw new UsageError(`${method} is not one of ${[...METHODS].join(', ')}`)
  }
  if (given === undefined) throw new UsageError('name a path, such as "/status"')
  const path = `${ROOT}/${given.replace(/^(\/api\/v1)?\//, '')}`
  const keyFile = flags.keyFile ?? homeKeyFile(config.FAREWATCH_HOME, ownerOf(path))
  const body = await readBody(flags.data)
  const headers = {
    authorization: `Bearer ${await readKeyFile(keyFile)}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  }
  const base = flags.url ?? localUrlOf(await withRunningApi(config))
  const response = await fetch(`${base.replace(/\/+$/, '')}${path}`, {
    method: method.toUpperCase(),
    headers,
    signal,
    ...(body === undefined ? {} : { body }),
  }).catch((err: unknown) => {
    signal.throwIfAborted()
    throw new NoApiError(base, err)
  })
  const isShown = process.stdout.isTTY && response.headers.get('content-type')?.includes('json')
  if (isShown) await writeOut(`${JSON.stringify(await response.json(), null, 2)}\n`)
  else await copyOut(response, signal)
  if (!response.ok) process.exitCode = EXIT.failed
}

async function copyOut({ body }: Response, signal: AbortSignal): Promise<void> {
  if (body === null) return
  for await (const part of body.pipeThrough(new TextDecoderStream())) await writeOut(part, signal)
}

/** What belongs to one reseller is called with the key of the demo, all else with the operator's. */
function ownerOf(path: string): 'operator' | 'demo' {
  const parts = path.replace(/\?.*/, '').split('/')
  const operation = API_OPERATIONS.find((known) => {
    const names = known.path.split('/')
    return (
      names.length === parts.length &&
      names.every((name, i) => name === parts[i] || name.startsWith('{'))
    )
  })
  return operation?.audience === 'resellers' ? 'demo' : 'operator'
}

async function readBody(data: string | undefined): Promise<string | undefined> {
  if (data === '-') return text(process.stdin)
  if (data === undefined || !data.startsWith('@')) return data
  return readFile(data.slice(1), 'utf8').catch((err: unknown) => {
    throw new UsageError(`--data ${data}: cannot be read (${messageOf(err)})`, { cause: err })
  })
}

class NoApiError extends AppError {
  override readonly name = 'NoApiError'
  override readonly code = 'cli.no_api'
  override readonly retryable = true

  constructor(url: string, cause: unknown) {
    super(`no API answers at ${url} (${messageOf(cause)}): "npm start" runs one`, { cause })
  }
}
