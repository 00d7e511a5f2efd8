import http from 'node:http'
import { buffer } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { listenLocally } from './local-server.ts'

/** A span as it arrived. Attributes are texts; of a list the entries joined with commas. */
export interface ReceivedSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  /** Empty for the first span of a trace. */
  readonly parentId: string
  readonly attributes: Readonly<Record<string, string>>
  /** Of the process that sent it. */
  readonly resource: Readonly<Record<string, string>>
}

export interface SpanReceiver {
  readonly url: string
  readonly spans: readonly ReceivedSpan[]
  readonly headers: readonly http.IncomingHttpHeaders[]
  /** How many requests have arrived, answered or not. */
  requests(): number
}

/** Takes OTLP over HTTP with protobuf. `hangs`: never answers. */
export async function startSpanReceiver({ hangs = false } = {}): Promise<SpanReceiver> {
  const spans: ReceivedSpan[] = []
  const headers: http.IncomingHttpHeaders[] = []
  let requests = 0
  const server = http.createServer(async (request, response) => {
    requests += 1
    if (hangs) return
    const body = await buffer(request)
    if (request.url !== '/v1/traces') return response.writeHead(404).end()
    headers.push(request.headers)
    spans.push(...spansOf(body))
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
  })
  const { url, close } = await listenLocally(server)
  onTestFinished(close)
  return { url, spans, headers, requests: () => requests }
}

/** Of opentelemetry/proto/collector/trace/v1/trace_service.proto and what it includes. */
function spansOf(body: Uint8Array): ReceivedSpan[] {
  return messages(body, 1).flatMap((resourceSpans) => {
    const resource = Object.assign({}, ...messages(resourceSpans, 1).map((one) => pairs(one, 1)))
    return messages(resourceSpans, 2)
      .flatMap((scopeSpans) => messages(scopeSpans, 2))
      .map((span) => ({
        traceId: hex(span, 1),
        spanId: hex(span, 2),
        parentId: hex(span, 4),
        name: messages(span, 5).map(String).join(''),
        attributes: pairs(span, 9),
        resource,
      }))
  })
}

function hex(message: Uint8Array, field: number): string {
  return messages(message, field)
    .map((bytes) => bytes.toString('hex'))
    .join('')
}

function pairs(message: Uint8Array, field: number): Record<string, string> {
  const entries = messages(message, field).map((pair) => {
    const [value] = messages(pair, 2)
    return [String(messages(pair, 1)[0]), value === undefined ? '' : textOf(value)] as const
  })
  return Object.fromEntries(entries)
}

function textOf(value: Uint8Array): string {
  const [text] = messages(value, 1)
  if (text !== undefined) return String(text)
  const [list] = messages(value, 5)
  if (list !== undefined) return messages(list, 1).map(textOf).join()
  return [...fieldsOf(value)].map(({ number }) => String(number)).join()
}

function messages(message: Uint8Array, field: number): Buffer[] {
  return [...fieldsOf(message)].flatMap((one) =>
    one.field === field && one.bytes !== undefined ? [one.bytes] : [],
  )
}

interface Field {
  readonly field: number
  readonly number?: bigint
  readonly bytes?: Buffer
}

/** The fields of a message of protobuf, in its wire format. */
function* fieldsOf(message: Uint8Array): Generator<Field> {
  const bytes = Buffer.from(message)
  let at = 0
  const varint = () => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at++)
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const [field, type] = [tag >> 3, tag & 7]
    if (type === 0) yield { field, number: varint() }
    else {
      const length = type === 1 ? 8 : type === 5 ? 4 : Number(varint())
      yield { field, bytes: bytes.subarray(at, at + length) }
      at += length
    }
  }
}
