import os from 'node:os'
import { describe, expect, onTestFinished } from 'vitest'
import { withStory } from '../../sandbox/world/story.ts'
import { createWorld } from '../../sandbox/world/world.ts'
import { openApp } from '../../src/app/app.ts'
import { seedDemoWatches } from '../../src/embedded/demo.ts'
import { makeUpHistory } from '../../src/embedded/demo-history.ts'
import { rollUpDays } from '../../src/history/roll-up-days.ts'
import { type Clock, systemClock } from '../../src/platform/base/clock.ts'
import { loadConfig } from '../../src/platform/config/config.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { selectOne } from '../../src/platform/db/transaction.ts'
import { prove } from '../routes/prove-fixtures.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'

const DAYS = 5
const never = new AbortController().signal
const bare = createWorld({ seed: 1 })

/** A demo whose database is new, and the function that makes up its history. It returns whether there was anything to do. */
function newDemo(url: string) {
  const addresses = { DATABASE_URL: url, UPSTREAM_BASE_URL: 'http://127.0.0.1:9' }
  const config = { ...loadConfig(addresses, os.tmpdir()), ...addresses, MIN_INTERVAL_SECONDS: 20 }
  const world = withStory(bare, new Date())
  const sandbox = { world, now: () => new Date() }
  return async (clock: Clock = systemClock, signal: AbortSignal = never, days = DAYS) => {
    const app = openApp({ config, log: silentLog, clock, role: 'test' })
    onTestFinished(() => app.close())
    let begun = false
    const begin = () => {
      begun = true
    }
    await makeUpHistory({ app, sandbox, days, signal, begin })
    return begun
  }
}

/** Stops the work at its n-th look at the clock. */
function stopAt(n: number): { clock: Clock; signal: AbortSignal } {
  const stopping = new AbortController()
  let left = n
  const now = () => {
    left -= 1
    if (left === 0) stopping.abort(new Error('stopped'))
    return new Date()
  }
  return { clock: { ...systemClock, now }, signal: stopping.signal }
}

const count = async (db: Db, from: string) => {
  const statement = sql<{ n: number }>`select count(*) as n from ${sql.raw(from)}`
  return (await selectOne(statement, db)).n
}

/** The columns whose default is not PostgreSQL's clock. */
const OTHER_CLOCKS = `
  pg_attrdef where pg_get_expr(adbin, adrelid) like 'simulated.%' or to_regnamespace('simulated') is not null
`

const NOT_APPLIED = 'lists that were not applied'
/** What lies out of order, in the future, or between the end of one interval and the beginning of the next. */
const FAULTS: Readonly<Record<string, string>> = {
  'records of fares in the order of their numbers': `
    (select recorded_at < lag(recorded_at) over (order by seq) as wrong from availability_change) c where wrong`,
  'records of routes in the order of their numbers': `
    (select recorded_at < lag(recorded_at) over (order by seq) as wrong from route_change) c where wrong`,
  'records of the reseller without a hole': `
    (select seq <> 1 + coalesce(lag(seq) over (order by seq), 0) as wrong from watch_change) c where wrong`,
  [NOT_APPLIED]: "sync_run where status not in ('applied', 'unchanged')",
  'rows of the future': `
    (select recorded_at as at from availability_change union all select recorded_at from route_change
     union all select recorded_at from watch_change union all select valid_from from fare_belief_version
     union all select fetched_at from sync_run union all select last_check_at from fare_state) r where at > clock_timestamp()`,
  'rows before the history': `
    (select recorded_at as at from availability_change union all select created_at from watch
     union all select fetched_at from sync_run union all select created_at from tracked_fare) r, demo where at < history_since`,
  'holes between beliefs': `
    (select valid_from <> lag(valid_to) over (partition by tracked_fare_id order by valid_from) as wrong
       from fare_belief_version) v where wrong`,
  'beliefs after the departure': `
    fare_belief_version v join fare_state s using (tracked_fare_id) where s.expired_at is not null and v.valid_to is null`,
}

describe('the history that the demo makes up', () => {
  it('ends now, has no fault, and is in the tables that charts and questions read', async ({
    db,
    databaseUrl,
  }) => {
    expect(await newDemo(databaseUrl)()).toBe(true)
    await rollUpDays(db)

    for (const [what, from] of Object.entries(FAULTS)) {
      expect([what, await count(db, from)]).toEqual([what, 0])
    }
    expect(await prove(db)).toMatchObject({ equal: true, differences: 0 })
    const demo = await db.selectFrom('demo').selectAll().executeTakeFirstOrThrow()
    const { history_since: since, history_until: until } = demo
    expect(Date.now() - Number(until)).toBeLessThan(60_000)
    expect(Number(until) - Number(since)).toBeGreaterThan((DAYS - 0.01) * 86_400_000)
    const unchecked = `
      fare_state s, demo d where s.expired_at is null and s.last_good_check_at < d.history_until - interval '1 minute'`
    expect(await count(db, unchecked)).toBe(0)
    for (const [from, least] of Object.entries({
      'farewatch.route_changes': 100,
      "farewatch.availability_changes where kind = 'price_changed'": 25,
      "farewatch.availability_changes where kind = 'became_unavailable'": 3,
      "farewatch.availability_changes where kind = 'expired'": 10,
      'farewatch.daily_network': 100,
      'farewatch.daily_fares': 50,
      "watch w join watch_list l on l.id = watch_list_id where l.name = 'demo' and ended_at is null": 40,
      'farewatch_private.watch_change': 100,
    })) {
      expect([from, await count(db, from)]).toEqual([from, expect.toSatisfy((n) => n >= least)])
    }
    expect(await count(db, OTHER_CLOCKS)).toBe(0)
    expect(await count(db, 'delivery')).toBe(0)
  })

  it('goes on where a process was stopped, and is made up once', async ({ db, databaseUrl }) => {
    const makeUp = newDemo(databaseUrl)
    const { clock, signal } = stopAt(16)
    await expect(makeUp(clock, signal)).rejects.toThrow('stopped')
    const { history_until: stopped } = await db
      .selectFrom('demo')
      .select('history_until')
      .executeTakeFirstOrThrow()
    expect(Date.now() - Number(stopped)).toBeGreaterThan(86_400_000)

    expect(await makeUp()).toBe(true)

    expect(await count(db, "sync_run where list = 'routes' and baseline")).toBe(1)
    for (const [what, from] of Object.entries(FAULTS)) {
      // Its stop interrupts a list.
      if (what !== NOT_APPLIED) expect([what, await count(db, from)]).toEqual([what, 0])
    }
    expect(await count(db, OTHER_CLOCKS)).toBe(0)
    const records = await count(db, 'availability_change')
    expect(await makeUp()).toBe(false)
    expect(await count(db, 'availability_change')).toBe(records)
  })

  it.for([
    ['in a database that has watches', DAYS, (db: Db) => seedDemoWatches(db, bare, new Date())],
    ['of no days', 0, () => Promise.resolve()],
  ] as const)('is none %s', async ([, days, prepare], { db, databaseUrl }) => {
    await prepare(db)

    expect(await newDemo(databaseUrl)(systemClock, never, days)).toBe(false)

    expect(await count(db, 'demo')).toBe(0)
    expect(await count(db, 'sync_run')).toBe(0)
  })
})
