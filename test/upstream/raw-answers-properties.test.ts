import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { AppError } from '../../src/platform/base/errors.ts'
import { ROUTE_LISTS, type RouteListName } from '../../src/platform/base/kinds.ts'
import { readRouteList } from '../../src/upstream/lists/read-route-list.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { type ClientFixture, clientOf } from './client-fixture.ts'
import { type Ending, type RawServer, startRawServer } from './raw-server.ts'
import { chunksOf, ROUTES } from './routes-fixture.ts'
import { available, question } from './verify-fixtures.ts'

const ID = '1234'
const RETURN_ID = '99'
const QUESTION = question({ returnFlightId: RETURN_ID })
const UNAVAILABLE = '{"1234":{"available":false},"99":{"available":false}}'
const { signal } = new AbortController()
let server: RawServer
let fixture: ClientFixture

beforeAll(async () => {
  server = await startRawServer()
  fixture = clientOf(server.url, { limits: { verifyDeadlineMs: 5_000, listDeadlineMs: 5_000 } })
})

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

/** An answer on the wire, and the body that an HTTP reader may find in it. Null if there is no complete body. */
interface WireAnswer {
  readonly bytes: Buffer
  readonly body: Buffer | null
}

type Framing = (body: Buffer) => WireAnswer

const JSON_TYPE = 'application/json'
const TYPES = [
  'application/json',
  'text/csv',
  'text/plain',
  'text/html',
  'Application/JSON;x=y',
  '',
]
function mostly<T>(usual: fc.Arbitrary<T>, rare: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: 6, arbitrary: usual }, { weight: 1, arbitrary: rare })
}

const anyHead = (type: string) =>
  fc.record({
    status: mostly(fc.constant(200), fc.constantFrom(201, 204, 206, 301, 304, 401, 404, 429, 503)),
    type: mostly(fc.constant(type), fc.constantFrom(...TYPES)),
    extra: mostly(
      fc.constant(''),
      fc.constantFrom(
        'retry-after: 1e400\r\n',
        'etag: "x\u00e9"\r\nlast-modified: never\r\n',
        'set-cookie: a\r\nset-cookie: b\r\n',
        'connection: close\r\n',
        `x: ${'y'.repeat(20_000)}\r\n`,
      ),
    ),
  })

const chunk = (bytes: Uint8Array) => [`${bytes.length.toString(16)}\r\n`, bytes, '\r\n']
const chunked = (...parts: (string | Uint8Array)[]) =>
  bytesOf('transfer-encoding: chunked\r\n\r\n', ...parts)
const gzipped = (body: Uint8Array) =>
  bytesOf(`content-encoding: gzip\r\ncontent-length: ${body.length}\r\n\r\n`, body)

function bytesOf(...parts: readonly (string | Uint8Array)[]): Buffer {
  return Buffer.concat(parts.map((part) => Buffer.from(part as string)))
}

/** Valid and invalid ways to send a body. Each follows the head. */
const FRAMINGS: Readonly<Record<string, Framing>> = {
  'its length': (body) => ({
    bytes: bytesOf(`content-length: ${body.length}\r\n\r\n`, body),
    body,
  }),
  'to the end of the connection': (body) => ({ bytes: bytesOf('\r\n', body), body }),
  'a length that is too long': (body) => ({
    bytes: bytesOf(`content-length: ${body.length + 1}\r\n\r\n`, body),
    body: null,
  }),
  'a length that is too short': (body) => ({
    bytes: bytesOf(`content-length: ${body.length >> 1}\r\n\r\n`, body),
    body: body.subarray(0, body.length >> 1),
  }),
  'an invalid length': (body) => ({
    bytes: bytesOf('content-length: x\r\n\r\n', body),
    body: null,
  }),
  'two lengths': (body) => ({
    bytes: bytesOf(`content-length: ${body.length}\r\ncontent-length: 1\r\n\r\n`, body),
    body: null,
  }),
  'one chunk': (body) => ({
    bytes: chunked(...(body.length === 0 ? [] : chunk(body)), '0\r\n\r\n'),
    body,
  }),
  'two chunks': (body) => {
    const parts = [body.subarray(0, body.length >> 1), body.subarray(body.length >> 1)]
    const full = parts.filter((part) => part.length > 0)
    return { bytes: chunked(...full.flatMap(chunk), '0\r\n\r\n'), body }
  },
  'chunks without an end': (body) => ({ bytes: chunked(...chunk(body)), body: null }),
  'a chunk that is too short': (body) => ({ bytes: chunked('fff\r\n', body), body: null }),
  'an invalid chunk size': (body) => ({
    bytes: chunked('zz\r\n', body, '\r\n0\r\n\r\n'),
    body: null,
  }),
  'a chunk longer than its size': (body) => ({
    bytes: chunked('1\r\n', body, '\r\n0\r\n\r\n'),
    body: body.subarray(0, 1),
  }),
  gzip: (body) => ({ bytes: gzipped(gzipSync(body)), body }),
  'gzip that ends early': (body) => ({
    bytes: gzipped(gzipSync(body).subarray(0, -9)),
    body: null,
  }),
  'invalid gzip': (body) => ({ bytes: gzipped(body), body: null }),
  'gzip followed by other bytes': (body) => ({
    bytes: gzipped(Buffer.concat([gzipSync(body), Buffer.from('{}')])),
    body,
  }),
  'gzip of gzip': (body) => ({ bytes: gzipped(gzipSync(gzipSync(body))), body: null }),
  'an unrequested encoding': (body) => ({
    bytes: bytesOf('content-encoding: br\r\n\r\n', body),
    body: null,
  }),
}

const GOOD = [UNAVAILABLE, JSON.stringify(available()), JSON.stringify(ROUTES), '[]', '{}', '']
const anyBody = (good: string) =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant(Buffer.from(good)) },
    { weight: 2, arbitrary: fc.constantFrom(...GOOD).map((text) => Buffer.from(text)) },
    fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value))),
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    // A valid body with some bytes overwritten.
    fc
      .tuple(
        fc.constantFrom(...GOOD.filter((text) => text !== '')),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 3 }),
      )
      .map(([good, damage]) => {
        const bytes = Buffer.from(good)
        for (const [at, byte] of damage) bytes[at % bytes.length] = byte
        return bytes
      }),
  )

/** Framings that mark the end of the body. */
const anyMarked = fc.constantFrom('its length', 'one chunk', 'two chunks', 'gzip')
const anyFraming = fc.oneof(anyMarked, fc.constantFrom(...Object.keys(FRAMINGS)))
const framed = (type: string, good: string, anyForm = anyFraming) =>
  fc
    .record({ head: anyHead(type), framing: anyForm, body: anyBody(good) })
    .map(({ head: { status, type, extra }, framing, body }): WireAnswer => {
      const rest = FRAMINGS[framing]?.(body) ?? { bytes: body, body: null }
      const head = `HTTP/1.1 ${status} x\r\ncontent-type: ${type}\r\n${extra}`
      return { bytes: bytesOf(head, rest.bytes), body: status === 200 ? rest.body : null }
    })
/** An answer that is cut off, or arbitrary bytes. It has no readable content. */
const broken = (type: string, good: string) =>
  fc.oneof(
    fc
      .tuple(framed(type, good, anyMarked), fc.nat())
      .map(([{ bytes }, cut]) => bytes.subarray(0, cut % bytes.length)),
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc
      .constantFrom(
        'HTTP/1.1',
        'HTTP/2 200\r\n\r\n',
        'HTTP/1.1 200\r\n\r\n',
        'HTTP/1.1 999 x\r\n\r\n',
        '\r\n\r\n',
      )
      .map((text) => Buffer.from(text)),
  )
/** Any answer. Answers that are valid for this endpoint are more frequent. */
const anyAnswer = (type: string, good: string) =>
  fc.oneof(
    { weight: 4, arbitrary: framed(type, good) },
    {
      weight: 1,
      arbitrary: broken(type, good).map((bytes): WireAnswer => ({ bytes, body: null })),
    },
  )
const anyCuts = fc.array(fc.nat(), { maxLength: 3 })
const anyEnding = mostly(fc.constant<Ending>('fin'), fc.constant<Ending>('reset'))

/** A plain reading of the whole body. The client must not claim more than it. */
function saysUnavailable(body: Buffer | null, id: string): boolean {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      body ?? Buffer.of(),
    )
    const entry = (JSON.parse(text) as Record<string, unknown>)[id] as Record<string, unknown>
    return entry.available === false && (entry.flight ?? null) === null
  } catch {
    return false
  }
}

async function readList(list: RouteListName): Promise<unknown[]> {
  const validators = { etag: '"a"', lastModified: null }
  const body = await fixture.client.fetchRouteListIfModified(list, { signal, validators })
  const read: unknown[] = []
  if (body !== null) for await (const slice of readRouteList(body)) read.push(slice)
  return read
}

it('verify never throws, and reads only answers that say so as unavailable', async () => {
  const seen = { unavailable: 0, unknown: 0 }
  await fc.assert(
    fc.asyncProperty(
      anyAnswer(JSON_TYPE, UNAVAILABLE),
      anyCuts,
      anyEnding,
      async ({ bytes, body }, cuts, ending) => {
        server.answer(chunksOf(bytes, cuts), ending)

        const { outbound, return: back } = await fixture.client.verifyFares(QUESTION, { signal })

        for (const [id, leg] of [
          [ID, outbound],
          [RETURN_ID, back as LegObservation],
        ] as const) {
          if (leg.kind === 'unavailable') expect(saysUnavailable(body, id)).toBe(true)
          if (leg.kind !== 'available') seen[leg.kind] += 1
        }
      },
    ),
    { numRuns: 300 },
  )
  expect(Math.min(seen.unavailable, seen.unknown)).toBeGreaterThan(10)
})

it.each(ROUTE_LISTS)(
  'any answer for the list %s is read to its end or refused with an error of ours',
  async (list) => {
    const seen = { read: 0, refused: 0 }
    await fc.assert(
      fc.asyncProperty(
        anyAnswer(JSON_TYPE, JSON.stringify(ROUTES)),
        anyCuts,
        anyEnding,
        async ({ bytes }, cuts, ending) => {
          server.answer(chunksOf(bytes, cuts), ending)

          const outcome: unknown = await readList(list).catch((err: unknown) => err)

          if (outcome instanceof Error) {
            expect(outcome).toBeInstanceOf(AppError)
            seen.refused += 1
          } else seen.read += 1
        },
      ),
      { numRuns: 300 },
    )
    expect(Math.min(seen.read, seen.refused)).toBeGreaterThan(10)
  },
)

it('no call is reported as a bug of ours', () => {
  expect(fixture.calls.filter(({ outcome }) => outcome === 'internal')).toEqual([])
  expect(fixture.logLines.filter((line) => line.includes('CANARY'))).toEqual([])
})
