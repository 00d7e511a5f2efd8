import { inspect } from 'node:util'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createScrub } from '../../src/platform/base/secrets.ts'
import { readVerifyAnswer } from '../../src/upstream/fares/read-verify-answer.ts'
import type { LegObservation, Observation } from '../../src/upstream/observation.ts'
import { anyText } from '../support/any-text.ts'
import { CANARY } from './client-fixture.ts'
import { available, flight, question } from './verify-fixtures.ts'

const ID = '1234'
const RETURN_ID = '99'
const QUESTION = question({ returnFlightId: RETURN_ID })
const scrub = createScrub([CANARY])

const anyLeaf = fc.oneof(
  fc.constantFrom(null, true, false, 0, -1, '', 'false', CANARY, '\u0000', '\ud800', ID),
  anyText({ maxLength: 12 }),
  fc.double(),
  fc.constantFrom(2 ** 53, 1e17, 1e300),
)
/** An entry of an answer: valid, nearly valid, or any value. */
const anyEntry = fc.oneof(
  fc.record({ available: anyLeaf, flight: anyLeaf }, { requiredKeys: [] }),
  fc.constantFrom<unknown>(
    { available: false },
    { available: true, flight: flight() },
    { available: false, flight: flight() },
    { available: false, flight: null },
    { available: [false] },
  ),
  fc.jsonValue(),
)
const anyName = fc.constantFrom(ID, RETURN_ID, '__proto__', 'constructor', CANARY, `${ID} `)
const anyResult = fc.oneof(
  fc.jsonValue(),
  fc.dictionary(anyName, anyEntry, { maxKeys: 4 }),
  fc.array(fc.dictionary(anyName, anyEntry, { maxKeys: 2 }), { maxLength: 2 }),
)
/** A valid flight with one part, at any depth, replaced by any value. */
const anyMutant = fc.tuple(fc.nat(), anyLeaf).map(([at, leaf]) => {
  let left = at % 60
  const mutated = JSON.stringify(available(), (_name, value: unknown) => {
    left -= 1
    return left === 0 ? leaf : value
  })
  return Buffer.from(mutated)
})
/** Valid answers with some bytes overwritten. */
const anyDamage = fc
  .tuple(
    fc.constantFrom(JSON.stringify(available()), '{"1234":{"available":false},"99":{}}'),
    fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }),
  )
  .map(([good, damage]) => {
    const bytes = Buffer.from(good)
    for (const [at, byte] of damage) bytes[at % bytes.length] = byte
    return bytes
  })
const anySoup = fc
  .array(
    fc.oneof(
      fc.constantFrom('{', '}', '[', ']', ',', ':', '"', '\\', 'null', 'true', 'false', '\ufeff'),
      fc.constantFrom('"1234":', '"available":', '"flight":', '{"available":false}', CANARY),
    ),
    { maxLength: 20 },
  )
  .map((tokens) => Buffer.from(tokens.join('')))
const anyBytes = fc.oneof(
  anyResult.map((value) => Buffer.from(JSON.stringify(value))),
  anyMutant,
  anyDamage,
  anySoup,
  fc.uint8Array({ maxLength: 200 }),
)

/** A plain reading of the body for one id. The tested parser must not claim more. */
function saysUnavailable(bytes: Uint8Array, id: string): boolean {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    return false
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const entry: unknown = Object.getOwnPropertyDescriptor(value, id)?.value
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return false
  const { available, flight: sent } = entry as { available?: unknown; flight?: unknown }
  return available === false && (sent === undefined || sent === null)
}

function expectHonest(bytes: Uint8Array, legs: readonly (readonly [string, LegObservation])[]) {
  for (const [id, leg] of legs) {
    if (leg.kind === 'unavailable') expect(saysUnavailable(bytes, id)).toBe(true)
  }
}

function legsOf({ outbound, return: back }: Pick<Observation, 'outbound' | 'return'>) {
  return [
    [ID, outbound],
    [RETURN_ID, back as LegObservation],
  ] as const
}

function expectNoCanary(value: unknown): void {
  const text = `${JSON.stringify(value)}\n${inspect(value, { depth: Infinity })}`
  expect(scrub(text)).toBe(text)
  expect(text).not.toContain('CANARY')
}

// Fault: Anomalous verify answers: counted; the fare is what `available` says, or unknown.
it('the parser never throws, and reads only bytes that say so as unavailable', () => {
  fc.assert(
    fc.property(anyBytes, (bytes) => {
      const answer = readVerifyAnswer([bytes], QUESTION, scrub)

      expectHonest(bytes, legsOf(answer))
      expectNoCanary(answer)
    }),
    { numRuns: 3_000 },
  )
})
