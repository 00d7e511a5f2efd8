import fc from 'fast-check'
import { expect, it } from 'vitest'
import { cleanText } from '../../src/platform/base/text.ts'
import type { Route } from '../../src/upstream/route-list.ts'
import { UpstreamContractError, UpstreamTooLargeError } from '../../src/upstream/upstream-errors.ts'
import { anyText } from '../support/any-text.ts'
import { chooser, writeRoutes } from './json-writer.ts'
import { chunksOf, ROUTES, readAll } from './routes-fixture.ts'

const anyCleanText = anyText().map((text) => cleanText(text, 200))
const anyId = fc.oneof(
  fc.bigInt({ min: 0n, max: 10n ** 30n }).map(String),
  anyCleanText.filter((id) => id.trim() !== ''),
)
const anyName = anyCleanText.map((text) => text.normalize('NFC').trim())
const anyPlace = fc.record({ id: anyId, iata: anyName, city: anyName, country: anyName })
const anyRoutes: fc.Arbitrary<Route[]> = fc.array(
  fc.record({ departure: anyPlace, destination: anyPlace }),
  { maxLength: 8 },
)
const anyNoise = fc.array(fc.nat(255), { minLength: 1, maxLength: 64 })
const anyCuts = fc.array(fc.nat(), { maxLength: 6 })
const anySliceBytes = fc.integer({ min: 1, max: 500 })

/** Pieces of valid, nearly valid and invalid lists. */
const anySoup = fc
  .array(
    fc.oneof(
      fc.constantFrom('[', ']', '{', '}', ',', ':', '"', '\\', ' ', 'null', '1', '-1', '\\ud800'),
      fc.constantFrom('"departure"', '"destination"', '"id"', '"id":1', '{"id":"1"}', '\ufeff'),
      fc.constant(JSON.stringify(ROUTES[0])),
    ),
    { maxLength: 30 },
  )
  .map((tokens) => Buffer.from(tokens.join('')))

/** A valid list with some bytes overwritten. */
const anyDamage = fc
  .array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 })
  .map((damage) => {
    const bytes = Buffer.from(JSON.stringify(ROUTES))
    for (const [at, byte] of damage) bytes[at % bytes.length] = byte
    return bytes
  })
const anyBytes = fc.oneof(
  anySoup,
  anyDamage,
  fc.uint8Array({ maxLength: 200 }),
  fc.json().map((text) => Buffer.from(text)),
  fc.json().map((text) => Buffer.from(`[${text}]`)),
)

// Fault: Truncated answers: nothing of it is applied.
it('every valid list is read back, in any spelling and any chunks', async () => {
  await fc.assert(
    fc.asyncProperty(
      anyRoutes,
      anyNoise,
      anyCuts,
      anySliceBytes,
      async (routes, noise, cuts, sliceBytes) => {
        const bytes = Buffer.from(writeRoutes(routes, chooser(noise)))

        const read = await readAll(chunksOf(bytes, cuts), { sliceBytes })

        expect(read.routes).toEqual(routes)
      },
    ),
    { numRuns: 300 },
  )
})

it('the reader throws only its own two errors, and accepts only what JSON.parse accepts', async () => {
  await fc.assert(
    fc.asyncProperty(anyBytes, anyCuts, anySliceBytes, async (bytes, cuts, sliceBytes) => {
      const outcome = await readAll(chunksOf(bytes, cuts), { sliceBytes }).catch(
        (err: unknown) => err,
      )

      if (outcome instanceof UpstreamContractError) return
      if (outcome instanceof UpstreamTooLargeError) return
      const { routes } = outcome as Awaited<ReturnType<typeof readAll>>
      const whole: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'))
      expect(whole).toHaveLength(routes.length)
    }),
    { numRuns: 1_000 },
  )
})

it('a list that was cut off anywhere is rejected', async () => {
  await fc.assert(
    fc.asyncProperty(
      anyRoutes,
      anyNoise,
      fc.nat(),
      anySliceBytes,
      async (routes, noise, cut, sliceBytes) => {
        const bytes = Buffer.from(writeRoutes(routes, chooser(noise)))
        const short = bytes.subarray(0, cut % bytes.length)

        const reading = readAll([short], { sliceBytes })

        await expect(reading).rejects.toBeInstanceOf(UpstreamContractError)
      },
    ),
    { numRuns: 300 },
  )
})
