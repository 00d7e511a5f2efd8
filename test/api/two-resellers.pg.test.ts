import { expect } from 'vitest'
import { API_OPERATIONS } from '../../src/app/api-operations.ts'
import { propertiesOf } from '../../src/platform/http/read-parameters.ts'
import { available, gone, record, silent } from '../fares/fare-fixtures.ts'
import { it } from '../support/test-database.ts'
import { type AnyOperation, call } from './calls.ts'
import { ago, fareOf, listWith, watch } from './reseller-calls.ts'
import { beginAt, bytesOf, inBoth, twoWorlds, type World, type Worlds } from './two-worlds.ts'

/** Operations that are the same for all callers have their own tests. */
const SHOWN_ELSEWHERE = new Set(['verifyFares'])

/** Every operation that a reseller may call: reads first, deletions last. */
const ORDER = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const CALLABLE: readonly AnyOperation[] = API_OPERATIONS.filter(
  ({ audience, id }) => audience !== 'operators' && !SHOWN_ELSEWHERE.has(id),
).toSorted((a, b) => ORDER.indexOf(a.method) - ORDER.indexOf(b.method))

/** Names of lists and references: the reseller's own, the other reseller's, and unknown ones. */
const NAMES = [
  { list: 'summer', reference: 'A-1' },
  { list: 'summer', reference: 'A-2' },
  { list: 'summer', reference: 'B-1' },
  { list: 'winter', reference: 'B-1' },
  { list: 'nobody', reference: 'nobody' },
]

/** A question that the other reseller already watches. */
const BODIES: Readonly<Record<string, unknown>> = {
  saveWatches: { watches: [watch('A-3', { flightId: '103' })] },
  deleteWatches: { references: ['B-1'] },
}

/** The calls of an operation: its example, and one for every name. */
function paramsOf({ params }: AnyOperation): Record<string, string>[] {
  const names = Object.keys(propertiesOf(params))
  if (!names.includes('list')) return [{}]
  if (names.includes('reference')) return NAMES
  return [...new Set(NAMES.map((name) => name.list))].map((name) => ({ list: name }))
}

/** Makes all calls in both worlds and compares the responses. Returns how many had each status. */
async function expectSame(
  worlds: Worlds,
  methods: readonly string[],
): Promise<Map<number, number>> {
  const statuses = new Map<number, number>()
  for (const operation of CALLABLE.filter(({ method }) => methods.includes(method))) {
    const body = BODIES[operation.id]
    const given = body === undefined ? {} : { body }
    for (const params of paramsOf(operation)) {
      const ask = async ({ base, own }: World) => {
        const answer = await call(base, operation, {
          key: own.key,
          params,
          headers: { 'accept-encoding': 'identity' },
          ...given,
        })
        return { answer, bytes: bytesOf(answer, worlds) }
      }
      const alone = await ask(worlds.alone)
      const together = await ask(worlds.together)
      const what = `${operation.id} ${JSON.stringify(params)}`
      expect(together.bytes, what).toEqual(alone.bytes)
      statuses.set(alone.answer.status, (statuses.get(alone.answer.status) ?? 0) + 1)
    }
  }
  return statuses
}

const OWN_WATCHES = [
  watch('A-1', { minIntervalSeconds: 3_600, priceThresholdPercent: '10' }),
  watch('A-2', { flightId: '102', returnFlightId: '202' }),
]
/** The same questions with a shorter interval and lower thresholds, and some others. */
const OTHER_WATCHES = [
  watch('B-1', { minIntervalSeconds: 1 }),
  watch('B-2', { flightId: '102', returnFlightId: '202', departsOn: '2027-05-01' }),
  watch('B-3', { flightId: '103' }),
]

/** The other reseller watches from the start. In both worlds, the reseller begins to watch half an hour ago. */
async function begin(worlds: Worlds): Promise<void> {
  const { other } = worlds.together
  if (other !== undefined) {
    await listWith(other, 'summer', [watch('A-9', { flightId: '109' })])
    await listWith(other, 'winter', OTHER_WATCHES)
    await beginAt(worlds.together, other, ago(30))
  }
  await inBoth(worlds, async (world) => {
    await listWith(world.own, 'summer', OWN_WATCHES)
    await beginAt(world, world.own, ago(30))
  })
}

it('a reseller that shares its questions gets the same bytes as alone', async () => {
  const worlds = await twoWorlds()
  const { other } = worlds.together
  await begin(worlds)
  const check = (minutes: number, ...answer: [Parameters<typeof record>[3], typeof gone?]) =>
    inBoth(worlds, async (world) =>
      record(
        world.db,
        await fareOf(world.db, answer.length > 1 ? '102' : '101'),
        ago(minutes),
        ...answer,
      ),
    )

  await check(25, available('100.00'))
  await check(25, available('50.00'), available('60.00'))
  await check(22, available('105.00'))
  // The other reseller adds and deletes its watches meanwhile.
  await other?.send('POST', '/watch-lists/winter/pause', {})
  await check(20, available('115.00'))
  await check(20, silent, gone)
  await other?.send('POST', '/watch-lists/winter/resume', {})
  await check(15, gone)
  await check(14, gone)
  await other?.send('DELETE', '/watch-lists/winter/watches/B-2')
  await check(13, available('55.00'), gone)
  await check(10, available('99.00'))
  await check(9, silent)

  const read = await expectSame(worlds, ['GET'])
  expect(read.get(200)).toBeGreaterThan(12)
  expect(read.get(404)).toBeGreaterThan(10)
  const added = await expectSame(worlds, ['POST', 'PUT'])
  expect(added.get(200)).toBeGreaterThan(2)
  await expectSame(worlds, ['PATCH', 'DELETE'])
  await expectSame(worlds, ['GET'])
})
