import { createRandom } from '../../bench/schedule/random.ts'
import { type Db, sql } from '../../src/db/database.ts'
import { inTransaction } from '../../src/db/transaction.ts'
import { learnCheck } from '../../src/recheck/policy/learn-check.ts'
import {
  changesPerDay,
  createRateModel,
  type FareMemory,
  NEW_FARE,
} from '../../src/recheck/policy/rate-model.ts'
import { chargeInOrder, nextDue, orderChecks } from '../../src/recheck/policy/stride.ts'
import { ticketOf } from '../../src/recheck/policy/ticket.ts'
import { createRateStore } from '../../src/recheck/rate-store.ts'
import { reschedule } from '../../src/recheck/reschedule.ts'
import { claimNext, trackFares } from './recheck-fixtures.ts'

/** The order of all checks of a trace, what is stored of each fare at its end, and of each reseller. */
export interface TraceResult {
  readonly order: readonly number[]
  readonly fares: readonly (readonly number[])[]
}

export interface TraceArgs {
  readonly fares: number
  readonly batches: number
  readonly batchSize: number
  /** Their number and their shares. */
  readonly shares: readonly number[]
}

const START = Date.UTC(2020, 0, 1)
const [SECONDS_A_BATCH, REQUESTS_PER_SECOND, MIN_SECONDS] = [10, 1, 60]
const SECONDS_OF = (fare: number) => MIN_SECONDS + fare
const TICKETS_A_FARE = 0.8
const WEIGHT_OF = (fare: number, reseller: number) => 1 + ((fare + reseller) % 3)
/** Some resellers ask for a longest delay; what these need is more than a queue can keep. */
const MAX_DELAY_OF = (fare: number, reseller: number) =>
  (fare + reseller) % 7 === 0 ? 500 + fare : null
const PROMISED = 0.2
const FIRST_VDUE = (fare: number) => fare / 1_000

/** The resellers of a fare, by number: most fares have one, a third have more. The first reseller has most of them. */
function resellersOf(fare: number, count: number): number[] {
  const own = 1 + (fare % 4 < 2 ? 0 : fare % count)
  const all = fare % 3 === 0 ? [own, 1 + ((fare >> 2) % count), 1 + ((fare >> 4) % count)] : [own]
  return [...new Set(all)].sort((a, b) => a - b)
}

/** What the checks of a trace show, by a seed: about a tenth of them find a change. */
function createAnswers() {
  const random = createRandom(7)
  return () => {
    const changed = random.uniform() < 0.1
    const state = random.uniform() < 0.8 ? ('available' as const) : ('unavailable' as const)
    return { state, changed, value: changed ? 1 + Math.floor(3 * random.uniform()) : 0 }
  }
}

interface TraceQueue {
  readonly share: number
  pass: number
  v: number
  readonly budgetPart: number
  readonly tickets: number
  readonly fares: number
  readonly promised: number
}

/** The resellers of a fare, what they ask for, and which of them pays. */
function watchesOf(fare: number, count: number) {
  const resellers = resellersOf(fare, count)
  return {
    resellers,
    weights: resellers.map((reseller) => WEIGHT_OF(fare, reseller)),
    maxDelays: resellers.map((reseller) => MAX_DELAY_OF(fare, reseller)),
    payer: resellers[fare % resellers.length] ?? 0,
  }
}

/** The queues as they are at the start. Their sums stay, as between two counts. */
function queuesOf({ fares, shares }: TraceArgs): Map<number, TraceQueue> {
  const all = shares.reduce((sum, share) => sum + share, 0)
  const queues = shares.map((share, i): [number, TraceQueue] => {
    const part = share / all
    const tickets = TICKETS_A_FARE * fares * part
    const sums = { budgetPart: part, tickets, fares: Math.round(fares * part), promised: PROMISED }
    return [i + 1, { share, pass: 0, v: 0, ...sums }]
  })
  return new Map(queues)
}

/** The trace through the pure functions. */
export function traceInMemory(args: TraceArgs): TraceResult {
  const { fares, batches, batchSize, shares } = args
  const answer = createAnswers()
  const model = createRateModel()
  const queues = queuesOf(args)
  const queueOf = (payer: number) => queues.get(payer) as TraceQueue
  const rows = Array.from({ length: fares }, (_, fare) => {
    return {
      fare,
      payer: watchesOf(fare, shares.length).payer,
      vdue: FIRST_VDUE(fare),
      ticket: 1,
      memory: NEW_FARE as FareMemory,
    }
  })
  const order: number[] = []
  let pass = 0
  for (let batch = 0; batch < batches; batch += 1) {
    const due = Map.groupBy(
      rows.toSorted((a, b) => a.vdue - b.vdue || a.fare - b.fare),
      ({ payer }) => payer,
    )
    const heads = [...due].map(([payer, all]) => {
      return { payer, fares: all.slice(0, batchSize), hasMore: false }
    })
    const { fares: claimed } = orderChecks(heads, queues, { limit: batchSize, presentPass: pass })
    pass = chargeInOrder(queues, claimed, pass)
    for (const { payer, vdue } of claimed) queueOf(payer).v = Math.max(queueOf(payer).v, vdue)
    const at = START / 1_000 + batch * SECONDS_A_BATCH
    for (const row of claimed) {
      order.push(row.fare)
      const check = { at, ...answer(), departsAt: null, route: null }
      row.memory = learnCheck(model, row.memory, check)
      const maxDelaySeconds = MAX_DELAY_OF(row.fare, row.payer)
      const of = queueOf(row.payer)
      const requestsPerSecond = of.budgetPart * REQUESTS_PER_SECOND
      const worth = {
        weight: WEIGHT_OF(row.fare, row.payer),
        value: row.memory.values[check.state],
        changesPerDay: changesPerDay(model, row.memory, { at, route: null }),
        maxDelaySeconds,
      }
      const { v, tickets, fares: count, promised } = of
      const queue = { v, tickets, fares: count, promised, requestsPerSecond }
      const nextTicket = ticketOf(worth, queue)
      const isBounded = maxDelaySeconds !== null
      const checked = {
        vdue: row.vdue,
        ticket: row.ticket,
        nextTicket,
        isScheduled: true,
        isBounded,
      }
      row.vdue = nextDue({ ...checked, seconds: SECONDS_OF(row.fare), queue })
      row.ticket = nextTicket
    }
  }
  const stored = rows.map(({ payer, vdue, ticket, memory: { rates, values } }) => [
    ...[payer, vdue, ticket, rates.available.changes, rates.available.exposure, values.available],
    ...[rates.unavailable.changes, rates.unavailable.exposure, values.unavailable],
  ])
  const paid = [...queues].map(([id, queue]) => [id, queue.pass, queue.v])
  return { order, fares: [...stored, ...paid] }
}

/** The same trace through the statements of the schedule. */
export async function traceInDatabase(db: Db, args: TraceArgs): Promise<TraceResult> {
  const answer = createAnswers()
  const ids = await prepare(db, args)
  const rules = {
    requestsPerSecond: REQUESTS_PER_SECOND,
    minRecheckSeconds: MIN_SECONDS,
    rates: createRateStore({ now: () => new Date(START), sleep: async () => undefined }),
  }
  const order: number[] = []
  for (let batch = 0; batch < args.batches; batch += 1) {
    const askedAt = new Date(START + batch * SECONDS_A_BATCH * 1_000)
    await inTransaction(db, async (tx) => {
      const claimed = await claimNext(tx, args.batchSize)
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
  return { order, fares: [...(await storedFares(db)), ...(await storedPayers(db))] }
}

async function prepare(db: Db, args: TraceArgs): Promise<number[]> {
  const { fares, shares } = args
  await sql`
    insert into reseller (name, share) select 'reseller ' || i, share from unnest(${shares}::float8[]) with ordinality s (share, i)
  `.execute(db)
  const numbers = Array.from({ length: fares }, (_, fare) => fare)
  const ids = await trackFares(
    db,
    numbers.map((fare) => ({
      vdue: FIRST_VDUE(fare),
      minIntervalSeconds: SECONDS_OF(fare),
      ...watchesOf(fare, shares.length),
    })),
  )
  for (const [id, { tickets, fares: count, budgetPart, promised }] of queuesOf(args)) {
    await sql`
      update recheck_payer set tickets = ${tickets}, fares = ${count}, budget_part = ${budgetPart}, promised = ${promised}
       where reseller_id = ${id}
    `.execute(db)
  }
  return ids
}

async function storedFares(db: Db): Promise<number[][]> {
  const { rows } = await sql<{ columns: number[] }>`
    select array[payer, vdue, ticket, available_changes, available_exposure, available_value,
                 unavailable_changes, unavailable_exposure, unavailable_value] as columns
      from fare_schedule order by tracked_fare_id
  `.execute(db)
  return rows.map(({ columns }) => columns)
}

async function storedPayers(db: Db): Promise<number[][]> {
  const { rows } = await sql<{ columns: number[] }>`
    select array[reseller_id, pass, v] as columns from recheck_payer where reseller_id <> 0 order by reseller_id
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
