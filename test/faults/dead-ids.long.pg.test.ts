import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { giveTurns, passSeconds, trackFare } from '../fares/fare-fixtures.ts'
import { TOKEN } from '../sandbox/support.ts'
import { until } from '../support/until.ts'
import { clientOf } from '../upstream/client-fixture.ts'
import { breakerOn } from '../upstream/health-fixtures.ts'
import { startDeadIdsProxy } from './dead-ids-proxy.ts'
import { deleteFares, fareFacts, verifierOf } from './fare-facts.ts'
import { type FaultFixture, prepareFaultFixture } from './fault-fixture.ts'

let fixture: FaultFixture
beforeAll(async () => {
  fixture = await prepareFaultFixture()
})
afterAll(() => fixture.close())

const DEAD = 400
const LIVE = 30
const REQUESTS_PER_SECOND = 500

/** Tracks dead ids before and after the live ids, so that the live ids are in the middle of every queue. */
async function trackAll(): Promise<void> {
  const { db, open } = fixture
  await deleteFares(db)
  await trackDead(0, DEAD / 2)
  for (const flightId of open.slice(0, LIVE)) await trackFare(db, { flightId })
  await trackDead(DEAD / 2, DEAD)
}

async function trackDead(from: number, to: number): Promise<void> {
  const { rows } = await sql<{ id: number }>`
    with fare as (
      insert into tracked_fare (flight_id, residents_adults, residents_children, residents_infants,
                                non_residents_adults, non_residents_children, non_residents_infants)
      select 'dead-' || n, 0, 0, 0, 1, 0, 0 from generate_series(${from}::int, ${to}::int - 1) n
      returning id)
    insert into fare_schedule (tracked_fare_id) select id from fare returning tracked_fare_id as id
  `.execute(fixture.db)
  await giveTurns(
    fixture.db,
    rows.map(({ id }) => id),
  )
}

/** The mean number of checks and the states, of the live ids and of the dead ones. */
async function readChecks() {
  const { rows } = await sql<{ dead: boolean; checks: number; pairs: string[] }>`
    select f.flight_id like 'dead-%' as dead, avg(s.checks)::float8 as checks,
           array_agg(distinct s.pair) as pairs
      from fare_state s join tracked_fare f on f.id = s.tracked_fare_id
     group by 1 order by 1
  `.execute(fixture.db)
  return rows
}

// Fault: Dead ids: the other fares are checked as often, at the full rate.
describe('dead ids: a watch list of which most flights are always answered by 404', () => {
  it('does not delay the other fares: they are checked as often, at the full rate, and believed', {
    timeout: 90_000,
  }, async () => {
    const { db } = fixture
    await trackAll()
    const proxy = await startDeadIdsProxy(fixture.sandbox.url)
    onTestFinished(() => proxy.close())
    const breaker = breakerOn(db)
    const { client } = clientOf(proxy.url, {
      accessToken: TOKEN,
      breaker,
      limits: { maxConnections: DEAD + LIVE },
    })
    onTestFinished(async () => {
      await client.close()
      await breaker.close()
    })
    const verifier = verifierOf(db, client, { breaker, requestsPerSecond: REQUESTS_PER_SECOND })

    // On a busy machine some slots are missed, and each of them costs a check.
    const [live, dead] = await until('three checks of each dead id', async () => {
      await verifier.fullRound()
      const kinds = await readChecks()
      return (kinds[1]?.checks ?? 0) > 2.8 ? kinds : undefined
    })

    expect(live).toMatchObject({ dead: false, pairs: ['bookable'] })
    expect(dead).toMatchObject({ dead: true, pairs: ['unknown'] })
    expect(live?.checks).toBeGreaterThan(0.8 * (dead?.checks ?? 0))
    expect((await breaker.admission('verify')).kind).toBe('allowed')
    const incidents = await sql`select kind from incident`.execute(db)
    expect(incidents.rows).toEqual([])

    // A fare that sells out among all of them is believed to be sold out.
    const [lost] = (await fareFacts(db)).filter(({ pair }) => pair === 'bookable')
    fixture.setFaults({ name: 'all-unavailable', endpoint: 'verify' })
    for (let check = 0; check < 2; check += 1) {
      await sql`
        update fare_schedule
           set not_before = clock_timestamp() + case when tracked_fare_id = ${lost?.fareId} then '0' else interval '1 day' end,
               interval_seconds = 2 * 86400,
               lane_due_at = case when lane is null then null
                                  when lane = 'retry' or tracked_fare_id = ${lost?.fareId} then clock_timestamp()
                                  else 'infinity' end
      `.execute(db)
      await verifier.round()
      await passSeconds(db, 20)
    }
    const after = await fareFacts(db)
    expect(after.find(({ fareId }) => fareId === lost?.fareId)?.kinds).toContain(
      'became_unavailable',
    )
  })
})
