import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { EXIT } from '../../src/cli/exit-codes.ts'
import { sql } from '../../src/db/database.ts'
import { createMetrics } from '../../src/metrics/metrics.ts'
import type { PassengerMix } from '../../src/upstream/observation.ts'
import { verifyOnDemand } from '../../src/verify/on-demand/verify-on-demand.ts'
import { folderWith } from '../config/config-fixture.ts'
import { TOKEN } from '../sandbox/support.ts'
import { runFarewatch } from '../support/child-process.ts'
import { silentLog } from '../support/silent-log.ts'
import { question } from '../upstream/verify-fixtures.ts'
import { RULES } from '../verify/fare-fixtures.ts'
import { cells, importRows, newReseller } from '../watch/watch-fixtures.ts'
import { type FaultGround, prepareFaultGround } from './fault-ground.ts'

let ground: FaultGround
beforeAll(async () => {
  ground = await prepareFaultGround()
})
afterAll(() => ground.close())

const NOBODY = { adults: 0, children: 0, infants: 0 }
const mix = (residents: object, nonResidents: object = {}): PassengerMix => ({
  residents: { ...NOBODY, ...residents },
  nonResidents: { ...NOBODY, ...nonResidents },
})

const FORBIDDEN: readonly (readonly [string, PassengerMix])[] = [
  ['no adult', mix({ children: 1 }, { infants: 1 })],
  ['nobody', mix({})],
  ['more infants than adults', mix({ adults: 1, infants: 1 }, { infants: 1 })],
  ['thirteen of a kind', mix({ adults: 13 })],
  ['less than none', mix({ adults: 1 }, { children: -1 })],
  ['half a child', mix({ adults: 1, children: 0.5 })],
  ['no number', mix({ adults: Number.NaN })],
]

/** What a question leaves behind, whatever came of it. */
async function traces(): Promise<unknown> {
  const { rows } = await sql`
    select next_slot_at, next_lane_at, (select count(*) from tracked_fare) as fares from upstream_budget
  `.execute(ground.db)
  return { rows, last: await ground.lastSeq() }
}

describe('forbidden questions', () => {
  it.for(FORBIDDEN)(
    '%s: refused on demand without a call, and without a slot',
    async ([, passengers]) => {
      const { db } = ground
      const { client, calls } = ground.client()
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
    ['thirteen of a kind', { residents_adults: '13' }],
    ['a text', { residents_adults: 'two' }],
  ] as const)('%s: never becomes a tracked fare', async ([, counts]) => {
    const resellerId = await newReseller(ground.db, JSON.stringify(counts))
    const before = await traces()

    const imported = importRows(ground.db, resellerId, [cells(counts)])

    await expect(imported).rejects.toMatchObject({ code: 'watch.invalid_rows' })
    expect(await traces()).toEqual(before)
  })

  it.for([
    ['no adult', ['--residents-children', '1']],
    ['more infants than adults', ['--residents-adults', '1', '--residents-infants', '2']],
    ['thirteen of a kind', ['--residents-adults', '13']],
    ['a text', ['--residents-adults', 'two']],
  ] as const)('%s: a command says which rule, and asks nobody', async ([, counts]) => {
    const env = {
      DATABASE_URL: ground.databaseUrl,
      UPSTREAM_BASE_URL: ground.sandbox.url,
      UPSTREAM_ACCESS_TOKEN: TOKEN,
    }
    const before = await traces()

    const { exit, stdout, stderr } = await runFarewatch(
      ['verify', '--flight', ground.open[0] ?? '', ...counts],
      env,
      folderWith(),
    )

    expect([EXIT.failed, EXIT.usage]).toContain(exit)
    expect(stdout).toBe('')
    expect(stderr).toMatch(/adult|12/)
    expect(await traces()).toEqual(before)
  })
})
