import { createRandom } from '../../bench/schedule/random.ts'
import { type Db, sql, type Tx } from '../../src/db/database.ts'
import { inTransaction } from '../../src/db/transaction.ts'
import { advanceClock, findDueFares, saveClaims } from '../../src/recheck/claim-fares.ts'
import { learnCheck } from '../../src/recheck/policy/learn-check.ts'
import {
  changesPerDay,
  createRateModel,
  type FareMemory,
  NEW_FARE,
} from '../../src/recheck/policy/rate-model.ts'
import { ticketOf } from '../../src/recheck/policy/ticket.ts'
import { createRateStore } from '../../src/recheck/rate-store.ts'
import { reschedule } from '../../src/recheck/reschedule.ts'
import { trackFares } from './recheck-fixtures.ts'

/** The order of all checks of a trace, and what is stored of each fare at its end. */
export interface TraceResult {
  readonly order: readonly number[]
  readonly fares: readonly (readonly number[])[]
}

export interface TraceArgs {
  readonly fares: number
  readonly batches: number
  readonly batchSize: number
}

const START = Date.UTC(2020, 0, 1)
const [SECONDS_A_BATCH, REQUESTS_PER_SECOND, MIN_SECONDS] = [10, 1, 60]
const TICKETS_A_FARE = 0.8
const FIRST_VDUE = (fare: number) => fare / 1_000

/** What the checks of a trace show, by a seed: about a tenth of them find a change. */
function createAnswers() {
  const random = createRandom(7)
  return () => {
    const changed = random.uniform() < 0.1
    const state = random.uniform() < 0.8 ? ('available' as const) : ('unavailable' as const)
    return { state, changed, value: changed ? 1 + Math.floor(3 * random.uniform()) : 0 }
  }
}

/** The trace through the pure functions. */
export function traceInMemory({ fares, batches, batchSize }: TraceArgs): TraceResult {
  const answer = createAnswers()
  const model = createRateModel()
  const sums = { tickets: TICKETS_A_FARE * fares, fares, requestsPerSecond: REQUESTS_PER_SECOND }
  const rows = Array.from({ length: fares }, (_, fare) => ({
    fare,
    vdue: FIRST_VDUE(fare),
    ticket: 1,
    memory: NEW_FARE as FareMemory,
  }))
  const order: number[] = []
  let v = 0
  for (let batch = 0; batch < batches; batch += 1) {
    const claimed = rows.toSorted((a, b) => a.vdue - b.vdue).slice(0, batchSize)
    v = Math.max(v, claimed.at(-1)?.vdue ?? 0)
    for (const row of claimed) row.vdue += 1 / row.ticket
    const at = START / 1_000 + batch * SECONDS_A_BATCH
    for (const row of claimed) {
      order.push(row.fare)
      const check = { at, ...answer(), departsAt: null, route: null }
      row.memory = learnCheck(model, row.memory, check)
      const rate = changesPerDay(model, row.memory, { at, route: null })
      const value = row.memory.values[check.state]
      const ticket = ticketOf({ weight: 1, value, changesPerDay: rate }, sums)
      const earliest = v + (MIN_SECONDS * REQUESTS_PER_SECOND) / sums.tickets
      row.vdue = Math.max(row.vdue + (1 / ticket - 1 / row.ticket), earliest)
      row.ticket = ticket
    }
  }
  const stored = rows.map(({ vdue, ticket, memory: { rates, values } }) => [
    ...[vdue, ticket, rates.available.changes, rates.available.exposure, values.available],
    ...[rates.unavailable.changes, rates.unavailable.exposure, values.unavailable],
  ])
  return { order, fares: stored }
}

/** The same trace through the statements of the schedule. */
export async function traceInDatabase(db: Db, args: TraceArgs): Promise<TraceResult> {
  const answer = createAnswers()
  const numbers = Array.from({ length: args.fares }, (_, fare) => fare)
  const ids = await trackFares(
    db,
    numbers.map((fare) => ({ vdue: FIRST_VDUE(fare) })),
  )
  const tickets = TICKETS_A_FARE * args.fares
  await sql`update recheck_clock set v = 0, tickets = ${tickets}, fares = ${args.fares}`.execute(db)
  const rules = {
    requestsPerSecond: REQUESTS_PER_SECOND,
    minRecheckSeconds: MIN_SECONDS,
    rates: createRateStore({ now: () => new Date(START), sleep: async () => undefined }),
  }
  const order: number[] = []
  for (let batch = 0; batch < args.batches; batch += 1) {
    const askedAt = new Date(START + batch * SECONDS_A_BATCH * 1_000)
    await inTransaction(db, async (tx) => {
      const claimed = await claim(tx, args.batchSize, askedAt)
      order.push(...claimed.map((id) => ids.indexOf(id)))
      const checks = claimed.map((fareId) => ({
        fareId,
        askedAt,
        next: 'normal' as const,
        rating: { ...answer(), route: null, counts: true },
      }))
      await reschedule(tx, checks, rules)
    })
  }
  return { order, fares: await storedFares(db) }
}

async function claim(tx: Tx, limit: number, slotAt: Date): Promise<number[]> {
  const due = await findDueFares(tx, { limit, without: [] })
  const claimId = '00000000-0000-4000-8000-000000000001'
  await saveClaims(
    tx,
    due.map((fare) => ({ ...fare, claimId, slotAt })),
    { advance: true },
  )
  await advanceClock(tx, due.at(-1)?.vdue ?? 0)
  return due.map(({ fareId }) => fareId)
}

async function storedFares(db: Db): Promise<number[][]> {
  const { rows } = await sql<{ columns: number[] }>`
    select array[vdue, ticket, available_changes, available_exposure, available_value,
                 unavailable_changes, unavailable_exposure, unavailable_value] as columns
      from fare_schedule order by tracked_fare_id
  `.execute(db)
  return rows.map(({ columns }) => columns)
}

/** The largest difference between two results, relative to the size of the value. */
export function largestDifference(a: TraceResult, b: TraceResult): number {
  const differences = a.fares.flatMap((columns, fare) =>
    columns.map((value, i) => {
      const other = b.fares[fare]?.[i] ?? Number.NaN
      return Math.abs(value - other) / Math.max(1, Math.abs(value))
    }),
  )
  return Math.max(...differences)
}
