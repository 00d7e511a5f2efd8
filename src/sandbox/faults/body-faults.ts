import { gzipSync } from 'node:zlib'
import { ENDPOINT_NAMES } from '../answer.ts'
import {
  defineFault,
  type FaultKind,
  JSON_ENDPOINTS,
  replaced,
  type Scene,
  unheard,
} from './fault-kind.ts'
import { integer, mediaType } from './fault-parameters.ts'
import { hugeSender } from './wire-sends.ts'

const HTML_TYPE = 'text/html; charset=utf-8'
const MAINTENANCE = page('<h1>We will be back soon</h1>')
const LOGIN = page(
  '<form method="post" action="/login"><input name="user"><input name="password" type="password">' +
    '<button>Log in</button></form>',
)
const ERROR = { code: 'internal', message: 'something went wrong' }

/** Faults that answer 200 with a body that is none of the interface's. */
export const BODY_FAULTS = {
  html: page200('a page of HTML under 200', MAINTENANCE),
  'login-page': page200('a login form under 200', LOGIN),
  empty: json200('an empty body under 200', ''),
  null: json200('null under 200', 'null'),
  'empty-object': json200('{} under 200', '{}'),
  'empty-array': json200('[] under 200', '[]'),
  'error-in-200': json200('{"error": …} under 200', JSON.stringify({ error: ERROR })),
  'wrong-type': defineFault({
    summary: 'the honest body under another content type',
    endpoints: ENDPOINT_NAMES,
    parameters: { type: mediaType('text/plain') },
    prepare:
      ({ type }) =>
      ({ answer }) => ({ answer: unheard(answer, { contentType: type }) }),
  }),
  bom: defineFault({
    summary: 'a byte order mark before the honest body',
    endpoints: JSON_ENDPOINTS,
    parameters: {},
    prepare:
      () =>
      ({ answer }) => {
        const body = Buffer.concat([Buffer.from('\ufeff'), Buffer.from(answer.body)])
        return { answer: unheard(answer, { body }) }
      },
  }),
}

function page200(summary: string, body: string): FaultKind {
  return defineFault({
    summary,
    endpoints: ENDPOINT_NAMES,
    parameters: {},
    prepare: () => () => replaced(body, { contentType: HTML_TYPE }),
  })
}

function json200(summary: string, body: string): FaultKind {
  return defineFault({
    summary,
    endpoints: JSON_ENDPOINTS,
    parameters: {},
    prepare: () => () => replaced(body),
  })
}

function page(content: string): string {
  return `<!doctype html>\n<html><head><title>Sandbox</title></head><body>${content}</body></html>\n`
}

const MEGABYTE = 1_000_000

/** Faults of size: what a client must cap before it reads it. */
export const SIZE_FAULTS = {
  'gzip-bomb': defineFault({
    summary: 'a small gzip of so many megabytes of spaces, whether gzip was accepted or not',
    endpoints: JSON_ENDPOINTS,
    parameters: { megabytes: integer({ min: 1, max: 256, initial: 32 }) },
    prepare: ({ megabytes }) => {
      const bombs = new Map<string, Buffer>()
      return (scene) => {
        const brackets = bracketsOf(scene)
        const bomb = bombs.get(brackets) ?? gzipOfSpaces(brackets, megabytes)
        bombs.set(brackets, bomb)
        return replaced(bomb, { headers: { 'content-encoding': 'gzip' } })
      }
    },
  }),
  'deep-nesting': defineFault({
    summary: 'arrays in arrays, so many levels deep, in a list or under the id',
    endpoints: JSON_ENDPOINTS,
    parameters: { levels: integer({ min: 2, max: 1_000_000, initial: 10_000 }) },
    prepare:
      ({ levels }) =>
      (scene) =>
        replaced(around(scene, `${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}`)),
  }),
  'many-fields': defineFault({
    summary: 'one element, or one entry, with so many fields',
    endpoints: JSON_ENDPOINTS,
    parameters: { fields: integer({ min: 1, max: 5_000_000, initial: 1_000_000 }) },
    prepare:
      ({ fields }) =>
      (scene) => {
        const all = Array.from({ length: fields }, (_, at) => `"f${at}":${at}`)
        return replaced(around(scene, `{${all.join()}}`))
      },
  }),
  'huge-body': defineFault({
    summary: 'brackets around so many megabytes of spaces, in chunks',
    endpoints: JSON_ENDPOINTS,
    parameters: { megabytes: integer({ min: 1, max: 2000, initial: 256 }) },
    prepare:
      ({ megabytes }) =>
      (scene) => ({ ...replaced(bracketsOf(scene)), send: hugeSender(megabytes) }),
  }),
}

function bracketsOf({ endpoint }: Scene): string {
  return endpoint === 'routes' || endpoint === 'with-availability' ? '[]' : '{}'
}

/** The JSON in the place of a route, or of what is said of the flight that was asked. */
function around(scene: Scene, json: string): string {
  if (bracketsOf(scene) === '[]') return `[${json}]`
  return `{${JSON.stringify(scene.answer.asked?.ids[0] ?? 'flights')}:${json}}`
}

function gzipOfSpaces(brackets: string, megabytes: number): Buffer {
  const bytes = Buffer.alloc(megabytes * MEGABYTE, ' ')
  bytes.write(brackets.charAt(0), 0)
  bytes.write(brackets.charAt(1), bytes.length - 1)
  return gzipSync(bytes)
}
