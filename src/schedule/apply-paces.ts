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

/** Up to which fare a run has come that was ended early, and of which resellers the fares before it follow. */
export interface Progress {
  after: number
  resellers: readonly number[]
}

export function noProgress(): Progress {
  return { after: 0, resellers: [] }
}

interface RunOptions {
  readonly signal: AbortSignal | undefined
  readonly progress: Progress
}

/**
 * Scores fares that have no scores: they are new, or their watches have changed. Returns false if the signal has
 * ended it. A fare whose watches change again meanwhile is scored again.
 */
export async function scoreFares(
  db: Db,
  context: RatesContext,
  options: RunOptions,
): Promise<boolean> {
  const paces = await readPaces(db)
  const unscored = sql`q.rates = '{}' and q.scores = '{}' and f.watchers > 0`
  return inBatches(db, { ...options, condition: unscored }, async (tx, fares) => {
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
}

/**
 * Puts fares in line with the paces: those that join the queue, those whose watches have changed, and all of these
 * resellers. Returns false if the signal has ended it.
 */
export async function applyPaces(
  db: Db,
  { resellers, ...context }: RatesContext & { readonly resellers: readonly number[] },
  options: RunOptions,
): Promise<boolean> {
  const paces = await readPaces(db)
  const joining = sql`q.rates = '{}'`
  const all = sql`(${joining} or f.resellers && ${resellers}::bigint[])`
  const condition = sql`q.scores <> '{}' and ${resellers.length > 0 ? all : joining}`
  return inBatches(db, { ...options, condition }, async (tx, fares) => {
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
  })
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

/**
 * Runs over the fares that meet a condition on their rows `q` and `f`, in batches that are locked in the order of
 * their numbers and committed one by one.
 */
async function inBatches(
  db: Db,
  { condition, signal, progress }: RunOptions & { readonly condition: RawBuilder<unknown> },
  run: (tx: Tx, fares: readonly StoredFare[]) => Promise<void>,
): Promise<boolean> {
  // All numbers in one pass: the planner may read the whole schedule for each batch.
  const { rows } = await sql<{ id: number }>`
    select q.tracked_fare_id as id
      from fare_schedule q
      join tracked_fare f on f.id = q.tracked_fare_id
     where q.tracked_fare_id > ${progress.after} and ${condition}
     order by 1
  `.execute(db)
  for (let at = 0; at < rows.length; at += BATCH) {
    if (signal?.aborted) return false
    const ids = rows.slice(at, at + BATCH).map(({ id }) => id)
    await inTransaction(db, async (tx) => {
      await hold(tx, ids)
      await run(tx, [...(await readFares(tx, ids)).values()])
    })
    progress.after = ids.at(-1) ?? 0
  }
  progress.after = 0
  return true
}
