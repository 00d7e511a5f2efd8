import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EXIT } from '../../src/cli/exit-codes.ts'
import { verifyOnDemand } from '../../src/fares/on-demand/verify-on-demand.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { sql } from '../../src/platform/db/database.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import type { PassengerMix } from '../../src/upstream/observation.ts'
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
const mix = (residents: object, nonResidents: object = {}): PassengerMix => ({
  residents: { ...NO_PASSENGERS, ...residents },
  nonResidents: { ...NO_PASSENGERS, ...nonResidents },
})

const FORBIDDEN: readonly (readonly [string, PassengerMix])[] = [
  ['no adult', mix({ children: 1 }, { infants: 1 })],
  ['no passengers', mix({})],
  ['more infants than adults', mix({ adults: 1, infants: 1 }, { infants: 1 })],
  ['thirteen of one type', mix({ adults: 13 })],
  ['a negative count', mix({ adults: 1 }, { children: -1 })],
  ['half a child', mix({ adults: 1, children: 0.5 })],
  ['not a number', mix({ adults: Number.NaN })],
]

/** Everything that a question could change. */
async function traces(): Promise<unknown> {
  const { rows } = await sql`
    select next_slot_at, next_lane_at, (select count(*) from tracked_fare) as fares from upstream_budget
  `.execute(fixture.db)
  return { rows, last: await fixture.lastSeq() }
}

describe('forbidden questions', () => {
  it.for(FORBIDDEN)(
    '%s: is refused on demand without a call and without a slot',
    async ([, passengers]) => {
      const { db } = fixture
      const { client, calls } = fixture.client()
      const rules = { ...RULES, requestsPerSecond: 100 }
      const deps = { db, upstream: client, clock: systemClock, rules, log: silentLog }
      const before = await traces()
      const { signal } = new AbortController()

      const asked = verifyOnDemand(
        { ...deps, metrics: createMetrics() },
        question({ passengers }),
        signal,
      )

      await expect(asked).rejects.toMatchObject({ code: 'upstream.passenger_rule' })
      expect(calls).toEqual([])
      expect(await traces()).toEqual(before)
    },
  )

  it.for([
    ['no adult', { residents_children: '1', non_residents_adults: '0' }],
    ['more infants than adults', { residents_infants: '2' }],
    ['thirteen of one type', { residents_adults: '13' }],
    ['a text', { residents_adults: 'two' }],
  ] as const)('%s: never becomes a tracked fare', async ([, counts]) => {
    const resellerId = await newReseller(fixture.db, JSON.stringify(counts))
    const before = await traces()

    const imported = importRows(fixture.db, resellerId, [cells(counts)])

    await expect(imported).rejects.toMatchObject({ code: 'watch.invalid_rows' })
    expect(await traces()).toEqual(before)
  })

  it.for([
    ['no adult', ['--residents-children', '1']],
    ['more infants than adults', ['--residents-adults', '1', '--residents-infants', '2']],
    ['thirteen of one type', ['--residents-adults', '13']],
    ['a text', ['--residents-adults', 'two']],
  ] as const)(
    '%s: is refused by a command that names the rule, without a call',
    async ([, counts]) => {
      const env = {
        DATABASE_URL: fixture.databaseUrl,
        UPSTREAM_BASE_URL: fixture.sandbox.url,
        UPSTREAM_ACCESS_TOKEN: TOKEN,
      }
      const before = await traces()

      const { exit, stdout, stderr } = await runCommand(
        ['verify', '--flight', fixture.open[0] ?? '', ...counts],
        env,
        folderWith(),
      )

      expect([EXIT.failed, EXIT.usage]).toContain(exit)
      expect(stdout).toBe('')
      expect(stderr).toMatch(/adult|12/)
      expect(await traces()).toEqual(before)
    },
  )
})
