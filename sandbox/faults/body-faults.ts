import { gzipSync } from 'node:zlib'
import {
  defineFault,
  type FaultContext,
  type FaultKind,
  JSON_OPERATIONS,
  replaced,
  unreadable,
} from './fault-kind.ts'
import { integer, mediaType } from './fault-parameters.ts'
import { hugeSender } from './wire-sends.ts'

const MEGABYTE = 1_000_000
const HTML_TYPE = 'text/html; charset=utf-8'
const MAINTENANCE = page('<h1>We will be back soon</h1>')
const LOGIN = page(
  '<form method="post" action="/login"><input name="user"><input name="password" type="password">' +
    '<button>Log in</button></form>',
)
const ERROR = { code: 'internal', message: 'something went wrong' }

/** Faults that answer 200 with a body that the interface does not have. */
export const BODY_FAULTS = {
  html: page200('HTML', MAINTENANCE),
  'login-page': page200('a login form', LOGIN),
  empty: json200('no byte', ''),
  null: json200('`null`', 'null'),
  'empty-object': json200('`{}`', '{}'),
  'empty-array': json200('`[]`', '[]'),
  'error-in-200': json200('`{"error": …}`', JSON.stringify({ error: ERROR })),
  'wrong-type': defineFault({
    summary: 'the correct body as another content type',
    parameters: { type: mediaType('text/plain') },
    corrupt: ({ answer, type }) => ({ answer: unreadable(answer, { contentType: type }) }),
  }),
  bom: defineFault({
    summary: 'a byte order mark before the correct body',
    endpoints: JSON_OPERATIONS,
    corrupt: ({ answer }) => {
      const body = Buffer.concat([Buffer.from('\ufeff'), Buffer.from(answer.body)])
      return { answer: unreadable(answer, { body }) }
    },
  }),
}

function page200(summary: string, body: string): FaultKind {
  return defineFault({ summary, corrupt: () => replaced(body, { contentType: HTML_TYPE }) })
}

function json200(summary: string, body: string): FaultKind {
  return defineFault({ summary, endpoints: JSON_OPERATIONS, corrupt: () => replaced(body) })
}

function page(content: string): string {
  return `<!doctype html>\n<html><head><title>Sandbox</title></head><body>${content}</body></html>\n`
}

/** Faults of size: what a client must limit before it reads it. */
export const SIZE_FAULTS = {
  'gzip-bomb': defineFault({
    summary: 'a small gzip of so many megabytes of spaces',
    endpoints: JSON_OPERATIONS,
    parameters: { megabytes: integer({ min: 1, max: 256, initial: 32 }) },
    corrupt: ({ megabytes, ...context }) =>
      replaced(gzipOfSpaces(bracketsOf(context), megabytes), {
        headers: { 'content-encoding': 'gzip' },
      }),
  }),
  'deep-nesting': defineFault({
    summary: 'arrays in arrays, so many levels deep',
    endpoints: JSON_OPERATIONS,
    parameters: { levels: integer({ min: 2, max: 1_000_000, initial: 10_000 }) },
    corrupt: ({ levels, ...context }) =>
      replaced(enclosed(context, `${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}`)),
  }),
  'many-fields': defineFault({
    summary: 'one entry with so many fields',
    endpoints: JSON_OPERATIONS,
    parameters: { fields: integer({ min: 1, max: 5_000_000, initial: 1_000_000 }) },
    corrupt: ({ fields, ...context }) => {
      const all = Array.from({ length: fields }, (_, at) => `"f${at}":${at}`)
      return replaced(enclosed(context, `{${all.join()}}`))
    },
  }),
  'huge-body': defineFault({
    summary: 'brackets with so many megabytes of spaces between them, in chunks',
    endpoints: JSON_OPERATIONS,
    parameters: { megabytes: integer({ min: 1, max: 2000, initial: 256 }) },
    corrupt: ({ megabytes, ...context }) => ({
      ...replaced(bracketsOf(context)),
      send: hugeSender(megabytes),
    }),
  }),
}

function bracketsOf({ endpoint }: FaultContext): string {
  return endpoint === 'routes' || endpoint === 'with-availability' ? '[]' : '{}'
}

/** The JSON as the only element of a list, or as the entry of the requested flight. */
function enclosed(context: FaultContext, json: string): string {
  if (bracketsOf(context) === '[]') return `[${json}]`
  return `{${JSON.stringify(context.answer.requested?.ids[0] ?? 'flights')}:${json}}`
}

/** Kept, because compressing them for each request would block the process. */
const gzips = new Map<string, Buffer>()

function gzipOfSpaces(brackets: string, megabytes: number): Buffer {
  const key = `${brackets}${megabytes}`
  const kept = gzips.get(key)
  if (kept !== undefined) return kept
  const bytes = Buffer.alloc(megabytes * MEGABYTE, ' ')
  bytes.write(brackets.charAt(0), 0)
  bytes.write(brackets.charAt(1), bytes.length - 1)
  const gzip = gzipSync(bytes)
  gzips.set(key, gzip)
  return gzip
}
