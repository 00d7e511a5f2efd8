import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { type Answer, JSON_TYPE, ok } from './answers.ts'

/** The cap of the tests on a body, in bytes. */
export const MAX_BODY_BYTES = 100_000

type Answers = Readonly<Record<string, Answer>>

const HTML = { 'content-type': 'text/html; charset=utf-8' }
const typed = (type: string) => ({ 'content-type': type })
const encoded = (encoding: string, body: string | Uint8Array): Answer => ({
  headers: { ...JSON_TYPE, 'content-encoding': encoding },
  body,
})
const page = (content: string): Answer => ({ headers: HTML, body: `<html>${content}</html>` })
const redirect = (location: string, status = 302): Answer => ({ status, headers: { location } })

/** The answers by which a reader of HTTP fails or succeeds, whatever the endpoint. `good` is the body of a good answer. */
export function transportAnswers(good: string) {
  return {
    read: readable(good),
    unread: unreadable(good),
    tooLarge: oversized(good),
    ...refusals(good),
    ...connections(good),
  }
}

function readable(good: string): Answers {
  return {
    'white space around the body': ok(`\n  ${good}\r\n `),
    'a body in gzip': encoded('gzip', gzipSync(good)),
    'a content type with a charset': ok(good, typed('Application/JSON ;charset=UTF-8')),
    'a content type of a vendor': ok(good, typed('application/vnd.fares.v1+json')),
    'an ETag without quotes': ok(good, { etag: 'abc' }),
    'headers of a cache': ok(good, { 'cache-control': 'max-age=3600', age: '9999' }),
  }
}

function unreadable(good: string): Answers {
  const zipped = gzipSync(good)
  return {
    'an empty body': ok(''),
    'half a body': ok(good.slice(0, good.length / 2)),
    'two bodies': ok(good + good),
    'a trailing comma': ok(`${good.slice(0, -1)},${good.slice(-1)}`),
    'single quotes': ok(good.replaceAll('"', "'")),
    'a comment': ok(`/* */${good}`),
    'a byte order mark': ok(`\ufeff${good}`),
    'UTF-16': { headers: JSON_TYPE, body: Buffer.from(good, 'utf16le') },
    'bytes that are not UTF-8': {
      headers: JSON_TYPE,
      body: Buffer.concat([Buffer.from(good.slice(0, 4)), Buffer.from([0xff, 0xfe])]),
    },
    'HTML as JSON': ok('<html><body>Service unavailable</body></html>'),
    'HTML as HTML': page('<p>asked {request}</p>'),
    'a page of maintenance': page('<p>type=password</p>'),
    'a page of nothing but beginnings of fields': page('<input '.repeat(300_000)),
    'CSV as JSON': ok('departure,destination\nPMI,MAD\n'),
    'JSON as plain text': ok(good, typed('text/plain')),
    'JSON as a problem': ok(good, typed('application/problem+json')),
    'JSON as a type that quotes the request': ok(good, typed('text/{request}')),
    'JSON without a content type': { body: good },
    JavaScript: ok(`callback(${good})`, typed('application/javascript')),
    'a body in brotli, which was not accepted': encoded('br', brotliCompressSync(good)),
    'a body in deflate, which was not accepted': encoded('deflate', deflateSync(good)),
    'an unknown encoding': encoded('snappy', good),
    'broken gzip': encoded('gzip', good),
    'half of gzip': encoded('gzip', zipped.subarray(0, 40)),
    'gzip without its end': encoded('gzip', zipped.subarray(0, -4)),
    'gzip with a wrong checksum': encoded(
      'gzip',
      zipped.map((byte, at) => (at === zipped.length - 8 ? byte ^ 1 : byte)),
    ),
    'gzip of nothing': encoded('gzip', ''),
    'gzip and more': encoded('gzip', Buffer.concat([zipped, Buffer.from('more')])),
    'an end in the body': { ...ok(good), wire: 'truncated' },
    'a Content-Length beyond the body': withLength(9_999, good),
    'a Content-Length short of the body': withLength(20, good),
    'bytes that are not HTTP': { raw: '220 ready for {request}\r\n\r\n' },
  }
}

/** Writes the answer itself: no HTTP library would send it. */
function withLength(length: number, body: string): Answer {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${length}`
  return { raw: `${head}\r\n\r\n${body}` }
}

function oversized(good: string): Answers {
  return {
    'a body over the cap': ok(good + ' '.repeat(MAX_BODY_BYTES)),
    'a Content-Length over the cap': withLength(250_000_000, '['),
    'a gzip bomb': encoded('gzip', gzipSync(Buffer.alloc(20_000_000, 32))),
    'a long gzip of nothing': encoded('gzip', Buffer.concat(Array(10_000).fill(gzipSync('')))),
    'endless headers': { raw: `HTTP/1.1 200 OK\r\nx-long: ${'a'.repeat(100_000)}\r\n\r\n` },
  }
}

function refusals(good: string) {
  const http_5xx: Answers = {
    ...Object.fromEntries(
      [500, 501, 502, 503, 504, 599].map((status) => [`a ${status}`, { status }]),
    ),
    'a 500 with a good body': { ...ok(good), status: 500 },
    'a 500 in an unknown encoding': { status: 500, headers: { 'content-encoding': 'br' } },
    'a 503 whose body stalls': { status: 503, body: 'soon', wire: 'silent-in-body' },
  }
  const http_4xx: Answers = {
    ...Object.fromEntries(
      [400, 404, 405, 410, 422, 451].map((status) => [`a ${status}`, { status }]),
    ),
    'a 404 with a good body': { ...ok(good), status: 404 },
  }
  const auth: Answers = {
    'a 401': { status: 401 },
    'a 403': { status: 403 },
    'a 401 with a good body': { ...ok(good), status: 401 },
    'a login form': page('<form action="/login"><input type="password" name="p"></form>'),
    'a login form of another style': page("<INPUT name=p\n TYPE = 'Password'/>"),
    'a redirect to a login page': redirect('/login?next=%2Fapi'),
    'a redirect to a sign-in': redirect('https://accounts.invalid/v2/sign-in'),
    'a redirect to auth': redirect('/auth/start'),
  }
  const rate_limited: Answers = {
    'a 429': { status: 429 },
    'a 429 for 31 years': { status: 429, headers: { 'retry-after': '1000000000' } },
    'a 429 with a good body': { ...ok(good), status: 429 },
  }
  const redirects: Answers = {
    ...Object.fromEntries(
      [301, 302, 303, 307, 308].map((status) => [
        `a ${status} to another host`,
        redirect('http://localhost:{port}/elsewhere', status),
      ]),
    ),
    'a redirect to authors': redirect('/authors/loginless'),
    'a redirect to nowhere': redirect('http://'),
    'a redirect without a location': { status: 307 },
  }
  const otherStatus: Answers = {
    'a 201 with a good body': { ...ok(good), status: 201 },
    'a 204': { status: 204 },
    'a 206 with a good body': { ...ok(good), status: 206 },
    'a 304 to a request without a condition': { status: 304 },
  }
  return { http_5xx, http_4xx, auth, rate_limited, redirects, otherStatus }
}

function connections(good: string) {
  const network: Answers = {
    'an end before the headers': { wire: 'closed' },
    'a reset before the headers': { wire: 'reset' },
    'a reset in the body': { ...ok(good), wire: 'reset-in-body' },
  }
  const timeout: Answers = {
    silence: { wire: 'silent' },
    'silence in the body': { ...ok(good), wire: 'silent-in-body' },
    'silence in gzip': { ...encoded('gzip', gzipSync(good)), wire: 'silent-in-body' },
    'a byte at a time': { ...ok(good), wire: 'byte-by-byte' },
  }
  return { network, timeout }
}
