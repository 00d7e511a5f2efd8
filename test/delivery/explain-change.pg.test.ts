import { expect } from 'vitest'
import { explanationText } from '../../src/cli/commands/explain.ts'
import { explainChange } from '../../src/delivery/operations/explain-operations.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { ago } from '../api/reseller-calls.ts'
import { available, record, trackFare, watchFare } from '../fares/fare-fixtures.ts'
import { asSent } from '../support/as-sent.ts'
import { it } from '../support/test-database.ts'
import { addEndpoint, fanOutAll } from './delivery-fixtures.ts'

const FLIGHT = 'F1'

/** Two watches of one reseller start at 100 EUR. Then the price rises by 5 EUR and by 10 more, as changes 2 and 3. */
async function rises(db: Db) {
  const fareId = await trackFare(db, { flightId: FLIGHT })
  const resellerId = await watchFare(db, 'ana', fareId, { reference: 'any' })
  await watchFare(db, 'ana', fareId, { reference: 'large', amount: '12' })
  const sold = await addEndpoint(db, resellerId, { rules: { soldOut: true } })
  const all = await addEndpoint(db, resellerId, { digest: { type: 'interval', every: '1h' } })
  await record(db, fareId, ago(5), available('100.00'))
  await record(db, fareId, ago(4), available('105.00'))
  await record(db, fareId, ago(3), available('115.00'))
  return { resellerId, fareId, sold, all }
}

async function explained(db: Db, given: { seq: number; resellerId: number }) {
  const found = await explainChange(db, given)
  if (found === undefined) throw new Error('there is no such change')
  return found
}

it('a change is explained by the threshold of each watch, measured from its last record', async ({
  db,
}) => {
  const { resellerId } = await rises(db)
  const stepsOf = async (seq: number) => {
    const { watches } = await explained(db, { seq, resellerId })
    return watches.map(({ reference, step, from }) => [reference, step, from?.amount])
  }

  expect(await stepsOf(2)).toEqual([
    ['any', 'recorded', '100.00'],
    ['large', 'below_threshold', '100.00'],
  ])
  expect(await stepsOf(3)).toEqual([
    ['any', 'recorded', '105.00'],
    ['large', 'recorded', '100.00'],
  ])
})

it('a record is explained by the filter of one endpoint and the digest of another', async ({
  db,
}) => {
  const { resellerId, sold, all } = await rises(db)
  const before = await explained(db, { seq: 2, resellerId })
  await fanOutAll(db)
  const { endpoints } = await explained(db, { seq: 2, resellerId })
  await sql`
    update delivery set state = 'dead', dead_reason = 'too_old', due_at = null, ended_at = clock_timestamp()
  `.execute(db)
  const dead = await explained(db, { seq: 2, resellerId })

  expect(before.endpoints).toMatchObject([{ step: 'not_sent_yet' }, { step: 'not_sent_yet' }])
  expect(endpoints).toMatchObject([
    { endpointId: sold, step: 'filtered', filters: ['rules'] },
    { endpointId: all, step: 'pending', filters: [], waitsForDigest: true, attemptCount: 0 },
  ])
  expect(dead.endpoints).toMatchObject([{ step: 'filtered' }, { step: 'dead' }])
})

it('an explanation is sentences, and those of another reseller are not in it', async ({ db }) => {
  const { resellerId, fareId } = await rises(db)
  await sql`update watch set paused_at = clock_timestamp() where reference = 'any'`.execute(db)
  for (const minutes of [2, 1]) await record(db, fareId, ago(minutes), available('90.00'))
  await watchFare(db, 'ana', fareId, { reference: 'new' })
  const benId = await watchFare(db, 'ben', await trackFare(db, { flightId: 'F2' }))
  const lines = async (seq: number, id: number) =>
    explanationText(asSent(await explained(db, { seq, resellerId: id }))).split('\n')

  expect((await lines(4, resellerId)).slice(1)).toMatchObject([
    expect.stringMatching(/ any: no record: it was paused at 20/),
    expect.stringMatching(/ large: notified, record 6 of the feed/),
    expect.stringMatching(/ new: no record: it began later, at 20/),
    expect.stringContaining('not sent yet'),
    expect.stringContaining('not sent yet'),
  ])
  expect((await lines(2, resellerId)).join('\n')).toContain('below its threshold of 12 EUR')
  expect((await lines(4, benId)).at(-1)).toContain('has no watch of this fare')
})
