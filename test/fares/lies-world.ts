import { lockFares } from '../../src/fares/beliefs.ts'
import { closeIncident, closeUncheckedIncidents } from '../../src/fares/incidents.ts'
import { recordChecks } from '../../src/fares/record.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import type { LegObservation, Observation } from '../../src/upstream/observation.ts'
import { openWithSetClock } from '../support/set-clock.ts'
import { silentLog } from '../support/silent-log.ts'
import { manyCells, resellerWith } from '../watches/watch-fixtures.ts'
import { flight, observation } from './answers.ts'

/** Checks are made every four seconds, four for each, of which the lanes have at most 0.4. */
const TICK_SECONDS = 4
const CHECKS = 4 * TICK_SECONDS
const EARLY = Math.floor(0.4 * CHECKS)
/** The most fares that wait for the end of their hold are all asked within so many seconds. */
export function laneSeconds(fares: number): number {
  return TICK_SECONDS * (2 + Math.ceil(fares / EARLY))
}

export const HOLD_SECONDS = 600

const RULES = {
  requestsPerSecond: CHECKS / TICK_SECONDS,
  minRecheckSeconds: 5,
  lossConfirmations: 2,
  gainConfirmations: 2,
  massHoldMs: HOLD_SECONDS * 1000,
}

/** What the upstream answers about a fare, by its number, so many seconds after the start. */
export type Upstream = (fare: number, second: number) => LegObservation

/** A record of the feed. Times are seconds after the start. */
export interface WorldRecord {
  readonly fare: number
  readonly kind: string
  readonly pair: string
  readonly amount: string | null
  readonly currency: string | null
  readonly recordedAt: number
  readonly heldSince: number | null
}

/** What is shown of the fares now. */
export interface Shown {
  readonly pair: string
  readonly hidden: string | null
  readonly fares: number
}

export interface World {
  readonly db: Db
  /** Seconds after the start. */
  readonly second: () => number
  /** Checks what is due until this second. */
  readonly runUntil: (second: number, upstream: Upstream) => Promise<void>
  /** Closes the open mass of losses as an operator does. */
  readonly close: (kind: 'mass_loss' | 'mass_gain' | 'mass_price_change') => Promise<void>
  readonly records: () => Promise<WorldRecord[]>
  readonly shown: () => Promise<Shown[]>
  /** The kinds of the records in the reseller's own feed, and whether its numbers have no gap. */
  readonly feed: () => Promise<{ readonly kinds: string[]; readonly isDense: boolean }>
  /** When the last good check of each of these fares began. */
  readonly lastGoodChecks: (isOf: (fare: number) => boolean) => Promise<number[]>
  readonly openIncidents: () => Promise<string[]>
}

/**
 * Fares of one reseller on a database whose clock the test sets: the product's own statements guard, decide and record, and
 * an hour takes seconds.
 */
export async function openWorld(databaseUrl: string, fares: number): Promise<World> {
  const startMs = Date.now() - 4 * 3_600_000
  const { db, setClock } = await openWithSetClock(databaseUrl, new Date(startMs))
  await resellerWith(db, manyCells(fares))
  const numbers = await fareNumbers(db)
  let second = 0

  async function setSecond(to: number): Promise<void> {
    second = to
    await setClock(new Date(startMs + to * 1000))
  }

  return {
    db,
    second: () => second,
    runUntil: async (end, upstream) => {
      while (second < end) {
        await setSecond(second + TICK_SECONDS)
        if (second % 60 === 0) await closeUncheckedIncidents({ db, log: silentLog })
        const fareIds = await dueFares(db)
        const askedAt = new Date(startMs + second * 1000)
        const checks = fareIds.map((fareId) => ({
          fareId,
          askedAt,
          why: 'scheduled' as const,
          observation: answered(upstream(numbers.get(fareId) ?? -1, second)),
        }))
        await inTransaction(db, async (tx) => {
          const locked = await lockFares(tx, fareIds)
          await recordChecks(tx, { checks, locked, rules: RULES, claimId: null })
        })
      }
    },
    close: async (kind) => void (await closeIncident({ db, log: silentLog }, kind)),
    records: () => readRecords(db, numbers, startMs),
    shown: () => readShown(db),
    feed: () => readFeed(db),
    lastGoodChecks: async (isOf) => {
      const { rows } = await sql<{ id: number; at: number }>`
        select tracked_fare_id as id, extract(epoch from last_good_check_at - ${new Date(startMs)})::float8 as at
          from fare_state
      `.execute(db)
      return rows.filter(({ id }) => isOf(numbers.get(id) ?? -1)).map(({ at }) => at)
    },
    openIncidents: async () => {
      const { rows } = await sql<{ kind: string }>`
        select kind from incident where closed_at is null order by kind
      `.execute(db)
      return rows.map(({ kind }) => kind)
    },
  }
}

/** Each answer is its own evidence. */
function answered(leg: LegObservation): Observation {
  const { evidence, ...rest } = observation(leg)
  return { ...rest, evidence: { ...evidence, body: JSON.stringify(leg) } }
}

async function fareNumbers(db: Db): Promise<Map<number, number>> {
  const { rows } = await sql<{ id: number; number: number }>`
    select id, substr(flight_id, 2)::int as number from tracked_fare
  `.execute(db)
  return new Map(rows.map(({ id, number }) => [id, number]))
}

async function dueFares(db: Db): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    with early as (
      select tracked_fare_id as id from fare_schedule
       where lane is not null and lane_due_at <= clock_timestamp()
       order by (lane = 'confirmation') desc, lane_due_at, tracked_fare_id limit ${EARLY}
    ), scheduled as (
      select tracked_fare_id as id from fare_schedule
       where not_before <= clock_timestamp() and tracked_fare_id not in (select id from early)
       order by not_before, tracked_fare_id limit ${CHECKS} - (select count(*) from early)
    )
    select id from early union all select id from scheduled
  `.execute(db)
  return rows.map(({ id }) => id)
}

async function readRecords(
  db: Db,
  numbers: ReadonlyMap<number, number>,
  startMs: number,
): Promise<WorldRecord[]> {
  const { rows } = await sql<WorldRecord & { fareId: number }>`
    select tracked_fare_id as "fareId", kind, after ->> 'pair' as pair,
           after #>> '{price,amount}' as amount, after #>> '{price,currency}' as currency,
           extract(epoch from recorded_at - ${new Date(startMs)})::float8 as "recordedAt",
           extract(epoch from held_since - ${new Date(startMs)})::float8 as "heldSince"
      from availability_change
     order by seq
  `.execute(db)
  return rows.map(({ fareId, ...record }) => ({ ...record, fare: numbers.get(fareId) ?? -1 }))
}

async function readShown(db: Db): Promise<Shown[]> {
  const { rows } = await sql<Shown>`
    select case when hidden is null then pair else 'unknown' end as pair, hidden, count(*) as fares
      from fare_state group by 1, 2 order by 1, 2
  `.execute(db)
  return rows
}

async function readFeed(db: Db): Promise<{ kinds: string[]; isDense: boolean }> {
  const { rows } = await sql<{ seq: number; kind: string }>`
    select w.seq, coalesce(c.kind, e.kind) as kind
      from watch_change w
      left join availability_change c on c.id = w.change_id
      left join watch_event e on e.id = w.watch_event_id
     order by w.seq
  `.execute(db)
  return {
    kinds: rows.map(({ kind }) => kind),
    isDense: rows.every(({ seq }, at) => seq === at + 1),
  }
}

const DEPARTS_AT = `${new Date(Date.now() + 60 * 86_400_000).toISOString().slice(0, 10)} 10:00`

/** A flight of its own for each fare, in two months. */
export function sold(fare: number, amount = '100.00', currency = 'EUR'): LegObservation {
  const seen = flight({
    price: { amount, currency },
    identity: `T1 PMI-MAD ${fare}`,
    itinerary: DEPARTS_AT,
  })
  const summary = { ...seen.flight, departsAt: DEPARTS_AT }
  return { kind: 'available', flight: { ...seen, departsAt: DEPARTS_AT, flight: summary } }
}
