import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EXIT } from '../../src/cli/exit-codes.ts'
import { verifyOnDemand } from '../../src/fares/verify.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { sql } from '../../src/platform/db/database.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { RULES } from '../fares/fare-fixtures.ts'
import { folderWith } from '../platform/config/config-fixture.ts'
import { TOKEN } from '../sandbox/support.ts'
import { runCommand } from '../support/run-command.ts'
import { silentLog } from '../support/silent-log.ts'
import { question } from '../upstream/verify-fixtures.ts'
import { cells, importRows, newReseller } from '../watches/watch-fixtures.ts'
import { type FaultFixture, prepareFaultFixture } from './fault-fixture.ts'

let fixture: FaultFixture
beforeAll(async () => {
  fixture = await prepareFaultFixture()
})
afterAll(() => fixture.close())

const NO_PASSENGERS = { adults: 0, children: 0, infants: 0 }

/** Everything that a question could change. */
async function traces(): Promise<unknown> {
  const { rows } = await sql`
    select next_slot_at, next_lane_at, (select count(*) from tracked_fare) as fares from upstream_budget
  `.execute(fixture.db)
  return { rows, last: await fixture.lastSeq() }
}

// Tests of the passenger rules show each mix that is forbidden.
// Fault: Forbidden questions: refused before any call, and before a slot of the budget.
describe('forbidden questions', () => {
  it('one without an adult is refused on demand without a call and without a slot', async () => {
    const { db } = fixture
    const { client, calls } = fixture.client()
    const rules = { ...RULES, requestsPerSecond: 100 }
    const deps = { db, upstream: client, clock: systemClock, rules, log: silentLog }
    const before = await traces()
    const passengers = { residents: { ...NO_PASSENGERS, children: 1 }, nonResidents: NO_PASSENGERS }

    const asked = verifyOnDemand(
      { ...deps, metrics: createMetrics() },
      question({ passengers }),
      new AbortController().signal,
    )

    await expect(asked).rejects.toMatchObject({ code: 'upstream.passenger_rule' })
    expect(calls).toEqual([])
    expect(await traces()).toEqual(before)
  })

  it('one with more infants than adults never becomes a tracked fare', async () => {
    const resellerId = await newReseller(fixture.db)
    const before = await traces()

    const imported = importRows(fixture.db, resellerId, [cells({ residents_infants: '2' })])

    await expect(imported).rejects.toMatchObject({ code: 'watch.invalid_rows' })
    expect(await traces()).toEqual(before)
  })

  it('one with thirteen adults is refused by a command that names the rule, without a call', async () => {
    const env = {
      DATABASE_URL: fixture.databaseUrl,
      UPSTREAM_BASE_URL: fixture.sandbox.url,
      UPSTREAM_ACCESS_TOKEN: TOKEN,
    }
    const before = await traces()
    const command = ['verify', '--flight', fixture.open[0] ?? '', '--residents-adults', '13']

    const { exit, stdout, stderr } = await runCommand(command, env, folderWith())

    expect([EXIT.failed, EXIT.usage]).toContain(exit)
    expect(stdout).toBe('')
    expect(stderr).toContain('12')
    expect(await traces()).toEqual(before)
  })
})
