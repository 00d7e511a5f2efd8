import type { IncomingMessage } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { UpstreamLimits } from '../../src/upstream/upstream-limits.ts'
import { type Answer, json, raw } from './answering-server.ts'
import { ROUTES } from './routes-fixture.ts'

export interface ListFault {
  readonly name: string
  readonly answer: Answer
  /** The code of the error, and a part of its message. */
  readonly code: string
  readonly message: string
  readonly limits?: Partial<UpstreamLimits>
}

const LIST = JSON.stringify(ROUTES)
const JSON_TYPE = { 'content-type': 'application/json' }
const GZIP = { 'content-encoding': 'gzip' }
const ZIPPED = gzipSync(LIST)
const SHORT = { listDeadlineMs: 300 }
/** Long enough for the headers on a busy machine. */
const LONGER = { listDeadlineMs: 1_000 }
const SMALL = { maxBodyBytes: 100_000 }

const contract = 'upstream.contract_violation'
const network = 'upstream.network'
const timeout = 'upstream.timeout'
const tooLarge = 'upstream.too_large'

/** A careless upstream quotes the whole request that it refuses, including the credential. */
function echo(request: IncomingMessage): string {
  const query = new URL(request.url ?? '', 'http://upstream').searchParams
  const token = query.get('accessToken') ?? ''
  return `asked ${request.url}, token ${token}, base64 ${Buffer.from(token).toString('base64')}`
}

function status(code: number, headers: Record<string, string> = {}): Answer {
  return (request, response) => {
    response.writeHead(code, { 'content-type': 'text/plain', ...headers })
    response.end(code === 204 ? undefined : echo(request))
  }
}

/** Sends a part of an answer and then nothing, or applies `then` to the connection. */
function part(
  body: string | Uint8Array,
  headers: Record<string, string> = {},
  then?: Then,
): Answer {
  return ({ socket }, response) => {
    response.writeHead(200, { ...JSON_TYPE, ...headers })
    response.write(body, () => then?.(socket))
  }
}
type Then = (socket: IncomingMessage['socket']) => void

const hangUp: Then = (socket) => socket.end()
const reset: Then = (socket) => socket.resetAndDestroy()

/** Sends one byte every few milliseconds without end. */
const drip: Answer = (_request, response) => {
  response.writeHead(200, JSON_TYPE)
  response.write('[')
  const timer = setInterval(() => response.write(' '), 10)
  response.on('close', () => clearInterval(timer))
}

const statuses: ListFault[] = [
  ...[500, 502, 503, 504].map((code) => ({
    name: `a ${code}`,
    answer: status(code),
    code: 'upstream.http_5xx',
    message: `routes: answered ${code}, with the body: asked`,
  })),
  ...[400, 404, 410, 418].map((code) => ({
    name: `a ${code}`,
    answer: status(code),
    code: 'upstream.http_4xx',
    message: `answered ${code}`,
  })),
  ...[401, 403].map((code) => ({
    name: `a ${code}`,
    answer: status(code),
    code: 'upstream.auth',
    message: `refused our credential with ${code}`,
  })),
  ...[301, 302, 303, 307, 308].map((code) => ({
    name: `a redirect by ${code}`,
    answer: status(code, { location: 'http://127.0.0.1:9/elsewhere' }),
    code: 'upstream.redirect',
    message: `answered ${code}, a redirect`,
  })),
  ...[204, 206, 304].map((code) => ({
    name: `a ${code}`,
    answer: status(code),
    code: contract,
    message: `the status is not 200 (status ${code})`,
  })),
  ...[
    { as: 206, code: contract, message: 'the status is not 200 (status 206)' },
    { as: 500, code: 'upstream.http_5xx', message: 'answered 500' },
  ].map(
    ({ as, code, message }): ListFault => ({
      name: `a good list under ${as}`,
      answer: (_request, response) => response.writeHead(as, JSON_TYPE).end(LIST),
      code,
      message,
    }),
  ),
  {
    name: 'a 429',
    answer: status(429),
    code: 'upstream.rate_limited',
    message: 'asked us to wait',
  },
  {
    name: 'a 503 whose body stalls',
    answer: (_request, response) => {
      response.writeHead(503)
      response.write('soon')
    },
    limits: LONGER,
    code: 'upstream.http_5xx',
    message: 'answered 503',
  },
  {
    name: 'a 500 whose body is in an unknown encoding',
    answer: status(500, { 'content-encoding': 'br' }),
    code: 'upstream.http_5xx',
    message: 'routes: answered 500',
  },
]

const connections: ListFault[] = [
  { name: 'no headers', answer: () => undefined, limits: SHORT, code: timeout, message: 'headers' },
  { name: 'a drip', answer: drip, limits: SHORT, code: timeout, message: 'within 300 ms' },
  {
    name: 'a stall in mid-body',
    answer: part('[{'),
    limits: LONGER,
    code: timeout,
    message: 'still waiting for the body',
  },
  {
    name: 'a stall in mid-gzip',
    answer: part(ZIPPED.subarray(0, 20), GZIP),
    limits: SHORT,
    code: timeout,
    message: 'within 300 ms',
  },
  {
    name: 'a connection closed before the headers',
    answer: ({ socket }) => hangUp(socket),
    code: network,
    message: 'UND_ERR_SOCKET',
  },
  {
    name: 'a reset before the headers',
    answer: ({ socket }) => reset(socket),
    code: network,
    message: 'ECONNRESET',
  },
  {
    name: 'a reset in mid-body',
    answer: part('[', {}, reset),
    code: network,
    message: 'ECONNRESET',
  },
  {
    name: 'an answer that is not HTTP',
    answer: (request, response) => raw(`${echo(request)}\r\n\r\n`)(request, response),
    code: contract,
    message: 'the answer is not HTTP/1.1',
  },
  {
    name: 'endless headers',
    answer: raw(`HTTP/1.1 200 OK\r\nx-long: ${'a'.repeat(100_000)}\r\n\r\n`),
    code: tooLarge,
    message: 'the headers are too long',
  },
]

const truncations: ListFault[] = [
  {
    name: 'a Content-Length beyond the body',
    answer: part(LIST, { 'content-length': '9999' }, hangUp),
    code: contract,
    message: 'the body ends early',
  },
  {
    name: 'the same on a connection to be closed',
    answer: part(LIST, { 'content-length': '9999', connection: 'close' }, hangUp),
    code: contract,
    message: 'the body ends early',
  },
  {
    name: 'a Content-Length short of the body',
    answer: raw(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n${LIST}`,
    ),
    code: contract,
    message: 'the list ends early, in element 0, byte 99',
  },
  {
    name: 'a chunked body without its end',
    answer: part(LIST, {}, hangUp),
    code: contract,
    message: 'the body ends early',
  },
  {
    name: 'the same on a connection to be closed, chunked',
    answer: part(LIST, { connection: 'close' }, hangUp),
    code: contract,
    message: 'the body ends early',
  },
  {
    name: 'half a list, ended by the end of the connection',
    answer: raw(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n${LIST.slice(0, 300)}`,
    ),
    code: contract,
    message: 'the list ends early, in element 2, byte 300',
  },
  ...[
    { name: 'a truncated gzip', body: ZIPPED.subarray(0, -10) },
    {
      name: 'a gzip with a wrong checksum',
      body: ZIPPED.map((b, at, all) => (at === all.length - 8 ? b ^ 1 : b)),
    },
    { name: 'a gzip that is none', body: LIST },
    { name: 'an empty gzip', body: '' },
    { name: 'something behind a gzip', body: Buffer.concat([ZIPPED, Buffer.from('more')]) },
  ].map(({ name, body }) => ({
    name,
    answer: json(body, GZIP),
    code: contract,
    message: 'the compressed body is damaged or ends early',
  })),
]

const bodies: ListFault[] = [
  {
    name: 'a login page',
    answer: (request, response) =>
      json(`<html>\n<p>${echo(request)}`, { 'content-type': 'text/html' })(request, response),
    code: contract,
    message: 'the content type is text/html (status 200), with the body: <html> <p>asked',
  },
  {
    name: 'a list under another content type',
    answer: json(LIST, { 'content-type': 'text/json' }),
    code: contract,
    message: 'the content type is text/json',
  },
  {
    name: 'a list without a content type',
    answer: (_request, response) => response.end(LIST),
    code: contract,
    message: 'the content type is missing',
  },
  {
    name: 'a credential in the content type',
    answer: (request, response) =>
      json(LIST, { 'content-type': encodeURI(echo(request)) })(request, response),
    code: contract,
    message: 'the content type is asked',
  },
  {
    name: 'an encoding we did not ask for',
    answer: json(LIST, { 'content-encoding': 'br' }),
    code: contract,
    message: 'a content encoding that we did not request',
  },
  {
    name: 'an error in a 200',
    answer: (request, response) =>
      json(JSON.stringify({ error: echo(request) }))(request, response),
    code: contract,
    message: 'begins with an object, not with a list (status 200), with the body: {"error":"asked',
  },
  ...[
    ['HTML under the JSON type', '<html>', 'begins with markup'],
    ['an empty body', '', 'the body is empty'],
    ['only whitespace', ' \r\n', 'the body is empty'],
    ['null', 'null', 'begins with null'],
    ['an object', '{}', 'begins with an object'],
    ['a list behind a byte order mark', `\ufeff${LIST}`, 'begins with a byte order mark'],
    ['a line for each route', ROUTES.map((r) => JSON.stringify(r)).join('\n'), 'an object'],
    [
      'two lists in one',
      `${LIST}${LIST}`,
      `the list is followed by other content at byte ${LIST.length}`,
    ],
  ].map(([name = '', body = '', message = '']) => ({
    name,
    answer: json(body),
    code: contract,
    message,
  })),
]

const sizes: ListFault[] = [
  {
    name: 'a body whose Content-Length is over the cap',
    answer: part('[', { 'content-length': '250000000' }),
    code: tooLarge,
    message: 'the body is over 192000000 bytes',
  },
  {
    name: 'a body that grows over the cap',
    answer: json(`[${' '.repeat(200_000)}]`, { 'transfer-encoding': 'chunked' }),
    limits: SMALL,
    code: tooLarge,
    message: 'the body is over 100000 bytes',
  },
  {
    name: 'a gzip bomb',
    answer: json(gzipSync(Buffer.alloc(20_000_000, ' ')), GZIP),
    limits: SMALL,
    code: tooLarge,
    message: 'the body is over 100000 bytes',
  },
  {
    name: 'a long gzip of nothing',
    answer: json(Buffer.concat(Array(10_000).fill(gzipSync(''))), {
      ...GZIP,
      'transfer-encoding': 'chunked',
    }),
    limits: SMALL,
    code: tooLarge,
    message: 'the body is over 100000 bytes',
  },
  {
    name: 'deep nesting',
    answer: json(`[${'['.repeat(40_000)}${']'.repeat(40_000)}]`),
    code: contract,
    message: 'element 0 is nested deeper than 32 levels',
  },
  {
    name: 'a million fields in one element',
    answer: json(`[{${Array.from({ length: 1_000_000 }, (_, at) => `"f${at}":1`).join()}}]`),
    code: tooLarge,
    message: 'element 0 is over 65536 bytes',
  },
]

export const LIST_FAULTS: readonly ListFault[] = [
  ...statuses,
  ...connections,
  ...truncations,
  ...bodies,
  ...sizes,
]
