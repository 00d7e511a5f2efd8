import { type Db, sql } from '../platform/db/database.ts'
import { memoryOf, ownRateOf, readFares, readPaces, type StoredFare } from './fare-memory.ts'
import { changesPerDay } from './policy/rate-model.ts'
import { recencyAt } from './policy/recency.ts'
import { readSharedModel } from './rate-store.ts'

/** Why a fare is checked as often as it is. */
export interface FarePace {
  /** Estimated changes a day at present, factors included. */
  readonly changesPerDay: number
  /** By how much the rate is higher or lower than usual: because of the time since the last change, and of changes of its route. */
  readonly factors: { readonly lastChange: number; readonly route: number }
  /** The mean value of its events: a reopening counts 5, a sell-out 2, another change 1. */
  readonly eventValue: number
  /** The sum of what its resellers spend on it; null until it joins the queue, within a minute. */
  readonly checksPerSecond: number | null
  /** What each reseller spends on it. */
  readonly resellers: readonly ResellerPace[]
  /** The time between two checks in its turn: shorter while resellers leave budget unused. */
  readonly expectedIntervalSeconds: number | null
  /** The same in words. */
  readonly why: string
}

export interface ResellerPace {
  readonly reseller: string
  /** Its active watches, each times its priority. */
  readonly weight: number
  /** What a check is worth to it: √(weight × value × changes a day), as of the last check. */
  readonly score: number | null
  readonly checksPerSecond: number | null
}

/** Reads the pace of a scheduled fare; null if it is not scheduled. */
export async function readFarePace(
  db: Db,
  { fareId, now }: { readonly fareId: number; readonly now: Date },
): Promise<FarePace | null> {
  const fare = (await readFares(db, [fareId])).get(fareId)
  if (fare === undefined) return null
  const model = await readSharedModel(db)
  const memory = memoryOf(fare)
  const state = memory.state ?? 'available'
  const at = now.getTime() / 1_000
  const pace = {
    changesPerDay: changesPerDay(model, memory, { at, route: null }) * fare.surprise,
    factors: {
      lastChange: recencyAt(model.recency, state, { ...memory, at }),
      route: fare.surprise,
    },
    eventValue: memory.values[state],
    checksPerSecond: fare.rate,
    resellers: await readResellerPaces(db, fareId),
    expectedIntervalSeconds: expectedInterval(fare),
  }
  return { ...pace, why: explainPace(pace) }
}

/** @example 'about 1.20 changes a day (× 1.00 since its last change, × 1.00 for its route); a check about every 16 s: acme every 17 s (weight 2, score 1.80), beta every 183 s (weight 2, score 0.40)' */
function explainPace(pace: Omit<FarePace, 'why'>): string {
  const { changesPerDay, factors, expectedIntervalSeconds, resellers } = pace
  const changes = `about ${changesPerDay.toFixed(2)} changes a day (× ${factors.lastChange.toFixed(2)} since its last change, × ${factors.route.toFixed(2)} for its route)`
  if (expectedIntervalSeconds === null) return `${changes}; it joins the queue within a minute`
  const parts = resellers.map(({ reseller, weight, score, checksPerSecond }) => {
    const every = checksPerSecond === null ? '' : ` every ${seconds(1 / checksPerSecond)}`
    return `${reseller}${every} (weight ${weight}, score ${(score ?? 0).toFixed(2)})`
  })
  return `${changes}; a check about every ${seconds(expectedIntervalSeconds)}: ${parts.join(', ')}`
}

function seconds(value: number): string {
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} s`
}

function expectedInterval({ rate, intervalSeconds, speed }: StoredFare): number | null {
  return rate === null ? null : Math.max(intervalSeconds, 1 / (rate * speed))
}

async function readResellerPaces(db: Db, fareId: number): Promise<ResellerPace[]> {
  const { rows } = await sql<ResellerPace>`
    select r.name as reseller, o.weight, o.score, o.rate as "checksPerSecond"
      from fare_schedule q
      join tracked_fare f on f.id = q.tracked_fare_id
     cross join lateral unnest(f.resellers, f.weights, q.scores, q.rates) o (id, weight, score, rate)
      join reseller r on r.id = o.id
     where q.tracked_fare_id = ${fareId}
     order by o.rate desc nulls last, r.name
  `.execute(db)
  return rows
}

/** How often a fare is checked for a reseller, as far as the reseller's own watches and share explain it. */
export interface OwnPace {
  /** Estimated changes a day at present. */
  readonly changesPerDay: number
  /** The longest time between two checks: budget that other resellers leave makes it shorter. Null until the pace of the reseller is solved. */
  readonly expectedIntervalSeconds: number | null
}

/**
 * Reads what a reseller may know of the pace of its fare; null for a fare without an active watch of the reseller. It follows
 * from what the reseller itself spends on the fare, and from what the upstream showed of it, which all its watchers share.
 * Changes of other fares of the route are left out, because others may watch these. So are the stored rates: they are empty for a
 * moment when a watch of another reseller begins or ends.
 */
export async function readOwnPace(
  db: Db,
  {
    fareId,
    resellerId,
    now,
    minRecheckSeconds,
  }: {
    readonly fareId: number
    readonly resellerId: number
    readonly now: Date
    readonly minRecheckSeconds: number
  },
): Promise<OwnPace | null> {
  const fare = (await readFares(db, [fareId])).get(fareId)
  const place = fare?.resellers.indexOf(resellerId) ?? -1
  if (fare === undefined || place < 0) return null
  const at = now.getTime() / 1_000
  const memory = memoryOf(fare)
  const changes = changesPerDay(await readSharedModel(db), memory, { at, route: null })
  const paces = await readPaces(db, [resellerId])
  const args = { memory, changesPerDay: changes, paces, minRecheckSeconds }
  const { rate } = ownRateOf(fare, place, args)
  return {
    changesPerDay: Number(changes.toPrecision(3)),
    expectedIntervalSeconds: rate === null ? null : Math.ceil(1 / rate),
  }
}

/** When a fare is checked next, and what decides it. */
export interface ExpectedCheck {
  readonly at: Date
  /** In words. */
  readonly why: string
}

export interface ScheduleRow {
  readonly lane: string | null
  readonly laneDueAt: Date | null
  /** The end of the shortest interval; null if the fare is not in the schedule. */
  readonly notBefore: Date | null
  /** Seconds until the fares that are due before this one have been checked; null until it joins the queue. */
  readonly dueSeconds: number | null
  /** Null unless a process has claimed the fare. */
  readonly claimId: string | null
  readonly now: Date
}

const WHY: Readonly<Record<string, string>> = {
  confirmation: 'the last answer contradicts the belief and is checked again',
  new_watch: 'a watch of it is new',
  retry: 'the last check was unknown: one early retry',
}

export function expectedCheck(row: ScheduleRow): ExpectedCheck | null {
  const { lane, laneDueAt, notBefore, dueSeconds, claimId, now } = row
  if (notBefore === null) return null
  if (claimId !== null) return { at: now, why: 'it is being checked' }
  if (lane !== null && laneDueAt !== null) return { at: laneDueAt, why: WHY[lane] ?? lane }
  if (dueSeconds === null) return { at: notBefore, why: 'it joins the queue within a minute' }
  const due = new Date(now.getTime() + dueSeconds * 1_000)
  if (notBefore > now && due <= notBefore) return { at: notBefore, why: 'its shortest interval' }
  return { at: due, why: 'the fares that are due before it, within the budget' }
}
