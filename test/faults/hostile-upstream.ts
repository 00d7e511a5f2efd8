import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { inspect } from 'node:util'
import { expect } from 'vitest'
import { createScrub } from '../../src/platform/base/secrets.ts'
import { listenLocally } from '../support/local-server.ts'
import { CANARY } from '../upstream/client-fixture.ts'
import type { Answer } from './answers.ts'

export interface HostileUpstream extends AsyncDisposable {
  readonly url: string
  /** The number of requests so far. */
  requests(): number
  /** The answer to every request from now on. */
  answerWith(answer: Answer): void
}

/** Serves one answer at a time on a free port of this machine. */
export async function startHostileUpstream(first: Answer = {}): Promise<HostileUpstream> {
  let current = first
  let requests = 0
  const server = createServer((request, response) => {
    requests += 1
    send(response, current, quotationOf(request))
  })
  const { url, close } = await listenLocally(server)
  return {
    url,
    requests: () => requests,
    answerWith: (answer) => {
      current = answer
    },
    [Symbol.asyncDispose]: close,
  }
}

const BYTE_EVERY_MS = 100

/** A careless upstream quotes the whole request, including the credential. */
function quotationOf(request: IncomingMessage): string {
  const token = new URL(request.url ?? '', 'http://upstream').searchParams.get('accessToken') ?? ''
  return `${request.url}, token ${token}, base64 ${Buffer.from(token).toString('base64')}`
}

function send(
  response: ServerResponse,
  { status = 200, headers = {}, body = 'asked {request}', raw, wire }: Answer,
  quotation: string,
): void {
  const quoting = (text: string) => text.replaceAll('{request}', () => quotation)
  const bytes = Buffer.from(typeof body === 'string' ? quoting(body) : body)
  const half = bytes.subarray(0, Math.ceil(bytes.length / 2))
  const inHeader = (value: string) =>
    value
      .replaceAll('{request}', () => encodeURI(quotation))
      .replaceAll('{port}', String(response.socket?.localPort))
  const sent = Object.entries(headers).map(([name, value]) => [name, inHeader(value)])
  const head = () => response.writeHead(status, Object.fromEntries(sent))
  if (raw !== undefined) {
    response.socket?.end(quoting(raw))
    return
  }
  switch (wire) {
    case undefined:
      head().end(status === 204 || status === 304 ? undefined : bytes)
      return
    case 'closed':
      response.socket?.end()
      return
    case 'reset':
      response.socket?.resetAndDestroy()
      return
    case 'silent':
      return
    case 'silent-in-body':
      head().write(half)
      return
    case 'reset-in-body':
      head().write(half, () => response.socket?.resetAndDestroy())
      return
    case 'truncated':
      head().write(half, () => response.socket?.end())
      return
    case 'byte-by-byte':
      drip(head(), bytes)
  }
}

function drip(response: ServerResponse, bytes: Buffer): void {
  let sent = 0
  const timer = setInterval(() => {
    response.write(bytes.subarray(sent, sent + 1))
    sent += 1
  }, BYTE_EVERY_MS)
  response.on('close', () => clearInterval(timer))
}

/** Short enough for a test to wait for silence, and long enough for every other answer on a busy machine. */
export function deadlineFor({ wire }: Answer, becomes: unknown): number {
  if (becomes === 'timeout') return 500
  return wire === 'silent-in-body' ? 1_000 : 30_000
}

/** Everything that can be printed of a value, including its causes and hidden properties. */
export function everythingOf(value: unknown): string {
  const options = { depth: Infinity, showHidden: true, getters: true, maxStringLength: null }
  return [inspect(value, options), JSON.stringify(value), String(value)].join('\n')
}

/** Expects that these outputs quote the credential of the test's client in no spelling. */
export function expectNoCredential(outputs: unknown): void {
  const text = JSON.stringify(outputs)
  expect(createScrub([CANARY])(text)).toBe(text)
  expect(text).not.toContain('CANARY')
}
