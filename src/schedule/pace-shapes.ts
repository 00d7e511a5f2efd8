import { type Static, Type } from 'typebox'
import { type Db, sql } from '../platform/db/database.ts'
import { Instant, object, orNull } from '../platform/http/schemas.ts'
import { memoryOf, ownRateOf, readFares, readPaces, type StoredFare } from './fare-memory.ts'
import { recencyAt } from './policy/factors.ts'
import { changesPerDay } from './policy/rate-model.ts'
import { readSharedModel } from './rate-store.ts'

const ResellerPace = object({
  reseller: Type.String(),
  weight: Type.Number({ description: 'Its watches, each times its priority.' }),
  score: orNull(Type.Number(), 'What a check is worth to it.'),
  checksPerSecond: orNull(Type.Number()),
})

/** Why a fare is checked as often as it is. */
export const FarePaceShape = object(
  {
    changesPerDay: Type.Number({ description: 'Estimated, at present.' }),
    factors: object({ lastChange: Type.Number(), route: Type.Number() }),
    eventValue: Type.Number(),
    checksPerSecond: orNull(
      Type.Number(),
      'The sum of what its resellers spend on it. Null until it joins the queue, within a minute.',
    ),
    resellers: Type.Array(ResellerPace, {
      description: 'What each reseller spends on it, the most first.',
    }),
    expectedIntervalSeconds: orNull(Type.Number()),
    why: Type.String({ description: 'The same in words.' }),
  },
  { title: 'FarePace' },
)
type FarePace = Static<typeof FarePaceShape>

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

async function readResellerPaces(db: Db, fareId: number) {
  const { rows } = await sql<Static<typeof ResellerPace>>`
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
export const WatchPaceShape = object(
  {
    changesPerDay: Type.Number({
      description:
        'Estimated changes of the fare a day at present, by what the upstream showed of it and the time since its last change.',
    }),
    expectedIntervalSeconds: orNull(
      Type.Integer(),
      'The longest time between two checks to expect, by your share of the budget and your own watches alone. Budget that other resellers leave makes it shorter. Null until the budget is divided with your watches, within a minute.',
    ),
  },
  { title: 'WatchPace' },
)

/**
 * Reads what a reseller may know of the pace of its fare; null for a fare without an active watch of the reseller.
 * It follows from what the reseller itself spends on the fare, and from what the upstream showed of it, which all
 * its watchers share. Changes of other fares of the route are left out, because others may watch these. So are the
 * stored rates: they are empty for a moment when a watch of another reseller begins or ends.
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
): Promise<Static<typeof WatchPaceShape> | null> {
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
export const ExpectedCheckShape = object({
  at: Instant,
  why: Type.String({ description: 'What decides the time, in words.' }),
})

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

export function expectedCheck({
  lane,
  laneDueAt,
  notBefore,
  dueSeconds,
  claimId,
  now,
}: ScheduleRow): Static<typeof ExpectedCheckShape> | null {
  if (notBefore === null) return null
  if (claimId !== null) return { at: now, why: 'it is being checked' }
  if (lane !== null && laneDueAt !== null) return { at: laneDueAt, why: WHY[lane] ?? lane }
  if (dueSeconds === null) return { at: notBefore, why: 'it joins the queue within a minute' }
  const due = new Date(now.getTime() + dueSeconds * 1_000)
  if (notBefore > now && due <= notBefore) return { at: notBefore, why: 'its shortest interval' }
  return { at: due, why: 'the fares that are due before it, within the budget' }
}
