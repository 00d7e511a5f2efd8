import { expect } from 'vitest'
import { fanOut } from '../../src/delivery/dispatch/fan-out.ts'
import { readWatchChanges } from '../../src/feeds/watch-feed-queries.ts'
import { it } from '../support/test-database.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'
import {
  addEndpoint,
  appendRecords,
  deliveredSeqs,
  type EndpointArgs,
  fanOutAll,
  priced,
  type RecordArgs,
} from './delivery-fixtures.ts'

/** The feed of the tests: numbers 1 to 9 are of list `summer`, number 10 of list `winter`. */
const RECORDS: readonly RecordArgs[] = [
  { kind: 'became_unavailable', reason: 'sold_out', before: priced('90'), after: priced(null) },
  { kind: 'became_unavailable', reason: 'sales_closed', before: priced('90'), after: priced(null) },
  { kind: 'became_available', before: priced(null), after: priced('120') },
  { kind: 'price_changed', before: priced('120'), after: priced('99.99') },
  { kind: 'price_changed', before: priced('99.99'), after: priced('80') },
  { kind: 'price_changed', before: priced('80'), after: priced('100.00') },
  { kind: 'price_changed', before: priced('120', 'GBP'), after: priced('80', 'GBP') },
  { kind: 'became_available', before: priced(null), after: priced('50') },
  { kind: 'expired', reason: 'departed', before: priced('90'), after: priced(null) },
]
const BELOW_100 = { priceBelow: { amount: '100.00', currency: 'EUR' } }

const CASES: readonly (EndpointArgs & { readonly passes: readonly number[] })[] = [
  { passes: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] },
  { kinds: ['expired', 'became_available'], passes: [3, 8, 9] },
  { reasons: ['sold_out', 'departed'], passes: [1, 9] },
  { lists: ['winter'], passes: [10] },
  { lists: ['autumn'], passes: [] },
  { rules: { soldOut: true }, passes: [1] },
  { rules: { bookable: true }, passes: [3, 8] },
  { rules: BELOW_100, passes: [4, 8] },
  { rules: { ...BELOW_100, soldOut: true }, passes: [1, 4, 8] },
  { rules: BELOW_100, kinds: ['price_changed'], passes: [4] },
]

it('the fan-out writes the records that pass filters and rules, each with the number before it', async ({
  db,
}) => {
  const resellerId = await resellerWith(db, [
    cells({ reference: 'A', flight_id: '1' }),
    cells({ reference: 'B', flight_id: '2', list: 'winter' }),
  ])
  const ids: string[] = []
  for (const { passes: _, ...filters } of CASES)
    ids.push(await addEndpoint(db, resellerId, filters))
  const paused = await addEndpoint(db, resellerId, { disabled: true })
  await appendRecords(db, { resellerId, reference: 'A' }, RECORDS)
  await appendRecords(db, { resellerId, reference: 'B' }, [{}])

  await fanOutAll(db)

  const found: [number, number][][] = []
  for (const id of ids) found.push(await deliveredSeqs(db, id))
  const expected = CASES.map(({ passes }) => passes.map((seq, i) => [seq, passes[i - 1] ?? 0]))
  expect(found).toEqual(expected)
  expect(await deliveredSeqs(db, paused)).toEqual([])

  // The number before the first record of a later pass is that of the last one that passed.
  await appendRecords(db, { resellerId, reference: 'B' }, [{ kind: 'expired' }])
  await fanOutAll(db)
  expect(await deliveredSeqs(db, ids[1] ?? '')).toEqual([
    [3, 0],
    [8, 3],
    [9, 8],
    [11, 9],
  ])
  expect(await fanOut(db)).toBe(false)
})

it('processes that fan out at the same time write each record once, in bounded steps', async ({
  db,
}) => {
  const resellerId = await resellerWith(db, [cells({ reference: 'A' })])
  const id = await addEndpoint(db, resellerId)
  await appendRecords(
    db,
    { resellerId, reference: 'A' },
    Array.from({ length: 2_100 }, () => ({})),
  )

  const more = await Promise.all([fanOut(db), fanOut(db), fanOut(db)])

  expect(more.some((isMore) => isMore)).toBe(true)
  await fanOutAll(db)
  const seqs = await deliveredSeqs(db, id)
  expect(seqs).toEqual(Array.from({ length: 2_100 }, (_, i) => [i + 1, i]))
})

it('a record passes a filter by list also if its watch is deleted before the fan-out', async ({
  db,
}) => {
  const resellerId = await resellerWith(db, [cells({ reference: 'A' })])
  const [summer, winter] = [
    await addEndpoint(db, resellerId, { lists: ['summer'] }),
    await addEndpoint(db, resellerId, { lists: ['winter'] }),
  ]
  await appendRecords(db, { resellerId, reference: 'A' }, [{}])
  await db.deleteFrom('watch').execute()

  await fanOutAll(db)

  expect(await deliveredSeqs(db, summer)).toEqual([[1, 0]])
  expect(await deliveredSeqs(db, winter)).toEqual([])
  const filtered = { after: 0, limit: 10, filter: { list: 'summer' } }
  expect(await readWatchChanges({ db }, resellerId, filtered)).toMatchObject([{ list: 'summer' }])
})
