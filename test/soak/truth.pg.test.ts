import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, onTestFinished } from 'vitest'
import { openApp } from '../../src/app/app.ts'
import { runRoles } from '../../src/app/run-roles.ts'
import type { WatchChange } from '../../src/feeds/watch-record.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { WORK_ROLES } from '../../src/platform/base/kinds.ts'
import { loadConfig } from '../../src/platform/config/config.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { brokenFeeds, brokenHistory } from '../chaos/records.ts'
import { readFareRecords } from '../feeds/fare-records.ts'
import { silentLog } from '../support/silent-log.ts'
import { until } from '../support/until.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'
import { drain, onBothQueues, seeded } from './run-soak.ts'
import { planTruth, type TruthPlan } from './truth-plan.ts'
import { missed, readCited, unlikeEvidence, untrue } from './truth-records.ts'
import { startTruthUpstream } from './truth-upstream.ts'

const SECONDS = Number(process.env.SOAK_SECONDS ?? 36)
const IS_LONG = SECONDS >= 300
const HOLD_SECONDS = IS_LONG ? 60 : 12
const FARES = 90
const REQUESTS_PER_SECOND = 40
const FAULT_SHARE = 0.1
/** All fares that wait, over the part of the budget that lanes have. */
const LANE_SECONDS = FARES / (0.4 * REQUESTS_PER_SECOND)
/** A lane's answer may be unknown, twice in a row, and is asked again after 20 s; one in a hundred comes after ten seconds. */
const FAULTS_SECONDS = 60
const TOKEN = 'truth-access-token'

/** Runs a worker in this process, with a hold shorter than a setting allows. */
function startWorker(databaseUrl: string, upstreamUrl: string, redisUrl: string | null) {
  const settings = loadConfig({
    DATABASE_URL: databaseUrl,
    ...(redisUrl === null ? {} : { REDIS_URL: redisUrl }),
    UPSTREAM_BASE_URL: upstreamUrl,
    UPSTREAM_ACCESS_TOKEN: TOKEN,
    UPSTREAM_REQUESTS_PER_SECOND: String(REQUESTS_PER_SECOND),
    MIN_INTERVAL_SECONDS: '1',
    ROUTE_SYNC_SCHEDULE: '0 0 1 1 *',
    AVAILABILITY_SYNC_SCHEDULE: '0 0 1 1 *',
    ADMIN_PORT: '0',
  })
  const config = {
    ...settings,
    DATABASE_URL: databaseUrl,
    UPSTREAM_BASE_URL: upstreamUrl,
    MASS_HOLD_MINUTES: HOLD_SECONDS / 60,
  }
  const ending = new AbortController()
  const ended = runRoles(openApp({ config, log: silentLog, clock: systemClock, role: 'worker' }), {
    roles: WORK_ROLES,
    migrate: false,
    signal: ending.signal,
    onStep: () => undefined,
    onReady: async () => undefined,
    release: async () => undefined,
  })
  onTestFinished(() => ending.abort())
  return {
    stop: () => {
      ending.abort()
      return ended
    },
  }
}

/** The losses of the fares that are sold out in the beginning are confirmed later. */
async function areKnown(db: Db, { fares, phases }: TruthPlan): Promise<boolean> {
  const { rows } = await sql<{ known: number }>`
    select count(*) as known from fare_state where pair = 'bookable'
  `.execute(db)
  const sold = fares.filter((legs) => legs.every((id) => phases.get(id)?.[0]?.amount))
  return rows[0]?.known === sold.length
}

/** The longest time that a record was held, and that a fare was still held at the end. */
async function longestHold(db: Db): Promise<number> {
  const { rows } = await sql<{ seconds: number }>`
    select coalesce(max(seconds), 0)::float8 as seconds from (
      select extract(epoch from recorded_at - held_since) as seconds from availability_change
      union all
      select extract(epoch from last_check_at - held_since) from fare_state) h
  `.execute(db)
  return rows[0]?.seconds ?? Number.NaN
}

/** A target is somewhere among the prices of the fares. */
const TARGET = 140

interface Notice {
  readonly reference: string
  readonly amount: string | undefined
}

/** What a target price notifies of these records, by the rule as people say it. */
function metTargets(records: readonly WatchChange[]): Notice[] {
  const below = new Set<string>()
  return records.flatMap(({ reference, after }) => {
    const price = after?.price
    if (price?.currency !== 'EUR') return []
    const amount = Number(price.amount)
    const isNew = amount < TARGET && !below.has(reference)
    if (amount < TARGET) below.add(reference)
    else if (amount >= 1.01 * TARGET) below.delete(reference)
    return isNew ? [{ reference, amount: price.amount }] : []
  })
}

const byReference = (all: readonly Notice[]) => Object.groupBy(all, ({ reference }) => reference)

/** A reseller without thresholds shows each price; another one has a target for each of the same fares. */
async function expectTargets(db: Db, everything: number, targets: number): Promise<void> {
  const read = (reseller: number) => readFareRecords({ db }, reseller, { after: 0, limit: 100_000 })
  const expected = metTargets(await read(everything))
  const notified = (await read(targets)).flatMap(({ reference, after, intents }) => {
    return intents.includes('priceBelow') ? [{ reference, amount: after?.price?.amount }] : []
  })
  expect.soft(expected.length).toBeGreaterThan(FARES / 5)
  expect.soft(byReference(notified)).toEqual(byReference(expected))
}

async function expectTruth(db: Db, databaseUrl: string, redisUrl: string | null): Promise<void> {
  const planned = (startMs: number) => planTruth({ ...PLAN, startMs, random: seeded(7) })
  let plan: TruthPlan = planned(Number.POSITIVE_INFINITY)
  const args = { plan: () => plan, faultShare: FAULT_SHARE, random: seeded(11) }
  const upstream = await startTruthUpstream(args)
  onTestFinished(() => upstream.close())
  const rows = plan.fares.map(([flightId = '', returnFlightId = ''], i) =>
    cells({ reference: `w${i}`, flight_id: flightId, return_flight_id: returnFlightId }),
  )
  const everything = await resellerWith(db, rows, 'ana')
  const target = { price_below_amount: String(TARGET), price_below_currency: 'EUR' }
  const targets = await resellerWith(
    db,
    rows.map((row) => ({ ...row, ...target })),
    'ben',
  )
  const workers = [0, 1].map(() => startWorker(databaseUrl, upstream.url, redisUrl))
  await until('the fares that are for sale', () => areKnown(db, plan))
  plan = planned(Date.now())
  await delay(plan.endMs - Date.now())
  await drain(db)
  await Promise.all(workers.map(({ stop }) => stop()))

  const records = await readCited(db)
  const held = records.filter(({ heldMs }) => heldMs !== null).length
  const { answers, faulty, lying, outdated } = upstream.counts
  const faults = Object.values(faulty).reduce((sum, n) => sum + n, 0)
  const incidents = await sql<{ kind: string }>`select distinct kind from incident`.execute(db)
  const hold = await longestHold(db)
  process.stdout.write(
    `truth, ${redisUrl === null ? 'PostgreSQL' : 'Redis'}, ${SECONDS} s: ${answers} answers, ${faults} faulty, ` +
      `${lying} in mass lies, ${outdated} of an older replica; ${records.length} records, ${held} held, the longest ${hold.toFixed(1)} s; ` +
      `incidents ${incidents.rows
        .map(({ kind }) => kind)
        .toSorted()
        .join(', ')}\n`,
  )

  expect.soft(faults).toBeGreaterThan(0.07 * answers)
  expect.soft(lying).toBeGreaterThan(0.15 * answers)
  expect
    .soft(incidents.rows.map(({ kind }) => kind))
    .toEqual(expect.arrayContaining(['mass_loss', 'mass_gain', 'mass_price_change']))
  expect.soft(records.length).toBeGreaterThan(FARES)
  expect.soft(records.filter(({ answer }) => Object.keys(answer).length === 0)).toEqual([])
  expect.soft(records.flatMap(unlikeEvidence)).toEqual([])
  expect.soft(untrue(plan, records)).toEqual([])
  expect.soft(hold).toBeLessThan(HOLD_SECONDS + LANE_SECONDS + FAULTS_SECONDS)
  await expectTargets(db, everything, targets)
  expect.soft(await brokenFeeds(db)).toEqual([])
  expect.soft(await brokenHistory(db)).toEqual([])
  if (IS_LONG) {
    expect.soft(outdated).toBeGreaterThan(50)
    expect.soft(held).toBeGreaterThan(20)
    expect
      .soft(missed(plan, records, 1000 * (2 * HOLD_SECONDS + LANE_SECONDS + FAULTS_SECONDS)))
      .toEqual([])
  }
}

const PLAN = { fares: FARES, seconds: SECONDS, holdSeconds: HOLD_SECONDS }

describe('an upstream of which a tenth of the answers is faulty, and masses of answers lie for a while', () => {
  onBothQueues(
    'every record is true, and is what its answer says, and no hold is longer than its bound',
    SECONDS,
    expectTruth,
  )
})
