import { type Db, type RawBuilder, sql, type Tx } from '../platform/db/database.ts'
import { inTransaction } from '../platform/db/transaction.ts'
import {
  expectedChanges,
  memoryOf,
  ratesOf,
  readFares,
  readPaces,
  type StoredFare,
} from './fare-memory.ts'
import { hold } from './follow.ts'
import type { Pace } from './policy/pace.ts'
import type { RateModel } from './policy/rate-model.ts'
import { dueAtJoin, dueAtRate } from './policy/virtual-time.ts'
import type { ScheduleRules } from './schedule-rules.ts'

interface RatesContext {
  readonly model: RateModel
  readonly now: number
  readonly rules: ScheduleRules
}

interface RunOptions {
  readonly signal: AbortSignal | undefined
}

/**
 * Scores fares that have no scores: they are new, or their watches have changed. Returns false if the signal has
 * ended it. A fare whose watches change again meanwhile is scored again.
 */
export async function scoreFares(
  db: Db,
  context: RatesContext,
  { signal }: RunOptions,
): Promise<boolean> {
  const paces = await readPaces(db)
  const unscored = sql`q.rates = '{}' and q.scores = '{}' and f.watchers > 0`
  const { isEnd } = await inBatches(db, { signal, condition: unscored }, async (tx, fares) => {
    const rows = fares.map((fare) => ({
      fareId: fare.fareId,
      ...presentRates(fare, paces, context),
    }))
    await sql`
      update fare_schedule s
         set scores = i.scores, changes_per_day = i."changesPerDay"
        from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as i ("fareId" bigint, scores float8[], "changesPerDay" float8)
       where s.tracked_fare_id = i."fareId"
    `.execute(tx)
  })
  return isEnd
}

/** Lets fares join the queue, or follow their watches if these have changed. Returns false if the signal has ended it. */
export async function applyToJoining(
  db: Db,
  context: RatesContext,
  { signal }: RunOptions,
): Promise<boolean> {
  const condition = sql`q.rates = '{}' and q.scores <> '{}'`
  const { isEnd } = await inBatches(db, { signal, condition }, await pacing(db, context))
  return isEnd
}

/** How far the fares of resellers have come that follow their paces. */
export interface Walk {
  readonly resellers: readonly number[]
  /** The last fare that follows. 0: none. */
  readonly after: number
}

/**
 * Puts fares of resellers in line with their paces, the next of their walk and at most `limit`. Returns how far the
 * walk has come, also if the signal has ended it; of no resellers at its end.
 */
export async function applyToNext(
  db: Db,
  { walk, limit, ...context }: RatesContext & { readonly walk: Walk; readonly limit: number },
  { signal }: RunOptions,
): Promise<Walk> {
  const { resellers, after } = walk
  if (resellers.length === 0) return walk
  const condition = sql`q.rates <> '{}' and f.resellers && ${resellers}::bigint[]`
  const options = { signal, condition, after, limit }
  const { isEnd, last } = await inBatches(db, options, await pacing(db, context))
  return isEnd ? { resellers: [], after: 0 } : { resellers, after: last }
}

/** Writes the rates and due times of fares that follow from the paces now. */
async function pacing(db: Db, context: RatesContext): Promise<OnBatch> {
  const paces = await readPaces(db)
  return async (tx, fares) => {
    const rows = fares.flatMap((fare) => {
      const { scores, rates, rate } = presentRates(fare, paces, context)
      if (rate === null) return []
      return [{ fareId: fare.fareId, scores, rates, rate, vdue: dueAt(fare, rate) }]
    })
    await sql`
      update fare_schedule s
         set scores = i.scores, rates = i.rates, rate = i.rate, vdue = i.vdue
        from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
          as i ("fareId" bigint, scores float8[], rates float8[], rate float8, vdue float8)
       where s.tracked_fare_id = i."fareId"
    `.execute(tx)
  }
}

function presentRates(
  fare: StoredFare,
  paces: ReadonlyMap<number, Pace>,
  { model, now, rules: { minRecheckSeconds } }: RatesContext,
) {
  const changesPerDay = expectedChanges(model, fare, now)
  const rates = ratesOf(fare, { memory: memoryOf(fare), changesPerDay, paces, minRecheckSeconds })
  return { ...rates, changesPerDay }
}

function dueAt({ fareId, vdue, v, rate: oldRate }: StoredFare, rate: number): number {
  return oldRate === null || vdue === Number.POSITIVE_INFINITY
    ? dueAtJoin({ fareId, rate }, v)
    : dueAtRate({ vdue, rate: oldRate }, rate, v)
}

const BATCH = 5_000

type OnBatch = (tx: Tx, fares: readonly StoredFare[]) => Promise<void>

interface BatchOptions extends RunOptions {
  readonly condition: RawBuilder<unknown>
  readonly after?: number
  /** How many fares at most. */
  readonly limit?: number
}

/**
 * Runs over the fares that meet a condition on their rows `q` and `f`, in batches that are locked in the order of
 * their numbers and committed one by one. Returns the last of them, and whether there are no more: the signal may have
 * ended it.
 */
async function inBatches(
  db: Db,
  { condition, signal, after = 0, limit }: BatchOptions,
  run: OnBatch,
): Promise<{ readonly last: number; readonly isEnd: boolean }> {
  // All numbers in one pass: the planner may read the whole schedule for each batch.
  const { rows } = await sql<{ id: number }>`
    select q.tracked_fare_id as id
      from fare_schedule q
      join tracked_fare f on f.id = q.tracked_fare_id
     where q.tracked_fare_id > ${after} and ${condition}
     order by 1
     limit ${limit ?? null}::bigint
  `.execute(db)
  let last = after
  for (let at = 0; at < rows.length; at += BATCH) {
    if (signal?.aborted) return { last, isEnd: false }
    const ids = rows.slice(at, at + BATCH).map(({ id }) => id)
    await inTransaction(db, async (tx) => {
      await hold(tx, ids)
      await run(tx, [...(await readFares(tx, ids)).values()])
    })
    last = ids.at(-1) ?? last
  }
  return { last, isEnd: rows.length !== limit }
}
