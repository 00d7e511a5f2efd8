import { gzipSync } from 'node:zlib'
import { defineFault, JSON_ENDPOINTS, replaced, type Scene } from './fault-kind.ts'
import { integer } from './fault-parameters.ts'
import { hugeSender } from './wire-sends.ts'

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
