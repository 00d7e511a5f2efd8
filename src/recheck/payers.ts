import { type Db, PREPARED, sql, type Tx } from '../db/database.ts'
import { maxDelayOf } from '../watch/fare-payers.ts'
import { promisedTicket } from '../watch/max-delays.ts'
import { divideBudget } from './policy/divide-budget.ts'
import type { Account } from './policy/stride.ts'
import { FLOOR } from './policy/ticket.ts'

/** The queue of a reseller: what its pass, its virtual clock and its tickets are at present. */
export interface Payer extends Account {
  readonly id: number
  readonly v: number
  readonly tickets: number
  /** Those of the fares that their minimum interval does not hold, divided by the part of the checks that is left to these. */
  readonly freeTickets: number
  readonly fares: number
  /** The part of the budget that its queue can have, as last counted. */
  readonly budgetPart: number
  /** The checks a second that the longest intervals of its fares need, as last counted. */
  readonly promised: number
}

/** The share of the queue without a reseller. Its few checks, of fares that have ended, must not take from the resellers. */
export const SHARE_WITHOUT_RESELLER = 0.01

/** Reads the queues of resellers. A reseller that never had a fare has none. */
export async function readPayers(db: Db, ids: readonly number[]): Promise<Map<number, Payer>> {
  const { rows } = await sql<Payer>`${PREPARED}
    select p.reseller_id as id, coalesce(r.share, ${SHARE_WITHOUT_RESELLER}::float8) as share, p.pass, p.v, p.tickets,
           p.free_tickets as "freeTickets", p.fares, p.budget_part as "budgetPart", p.promised
      from recheck_payer p
      left join reseller r on r.id = p.reseller_id
     where p.reseller_id = any(${[...new Set(ids)]}::bigint[])
  `.execute(db)
  return new Map(rows.map((row) => [row.id, row]))
}

/** Writes what resellers have paid, and moves the clocks of their queues forward. The caller holds the lock of the clock. */
export async function savePayers(
  tx: Tx,
  payers: readonly { readonly id: number; readonly pass: number; readonly v: number }[],
): Promise<void> {
  await sql`${PREPARED}
    update recheck_payer p
       set pass = n.pass, v = greatest(p.v, n.v)
      from unnest(${payers.map(({ id }) => id)}::bigint[], ${payers.map(({ pass }) => pass)}::float8[],
                  ${payers.map(({ v }) => v)}::float8[]) n (id, pass, v)
     where p.reseller_id = n.id
  `.execute(tx)
}

interface CountedQueue {
  readonly id: number
  readonly share: number
  readonly tickets: number
  readonly fares: number
  readonly most: number
  readonly promised: number
  /** The tickets of the fares that their minimum interval does not hold, and the checks a second of those that it holds. */
  readonly free: number
  readonly held: number
}

/**
 * The free tickets of a queue that can have so many checks a second. Which fares are held follows from the count before, so the
 * number is right after some minutes. If more is held than the queue can have, it was wrong, and the count begins again.
 */
function freeTickets({ tickets, free, held }: CountedQueue, perSecond: number): number {
  return held < perSecond ? (free * perSecond) / (perSecond - held) : tickets
}

/**
 * Counts the fares and the tickets of each queue, and which part of the budget it can have. Once a minute is often enough:
 * it reads the whole schedule.
 */
export async function countQueues(
  tx: Tx,
  { requestsPerSecond, minRecheckSeconds }: CountRules,
): Promise<void> {
  // Its expected interval is longer than its minimum interval `m`.
  const isFree = sql`before.free_tickets > s.ticket * m.seconds * before.budget_part * ${requestsPerSecond}::float8`
  const { rows } = await sql<CountedQueue>`
    select p.reseller_id as id, coalesce(r.share, ${SHARE_WITHOUT_RESELLER}::float8) as share, coalesce(q.tickets, 0) as tickets,
           coalesce(q.fares, 0) as fares, coalesce(q.most, 0) as most,
           coalesce(q.promised, 0) as promised, coalesce(q.free, 0) as free, coalesce(q.held, 0) as held
      from recheck_payer p
      left join reseller r on r.id = p.reseller_id
      left join (select s.payer, sum(s.ticket) as tickets, count(*) as fares, sum(1 / m.seconds) as most,
                        sum(s.ticket) filter (where ${isFree}) as free,
                        sum(1 / m.seconds) filter (where not ${isFree}) as held,
                        sum(1.0::float8 / ${maxDelayOf(sql`s.payer`, sql`${minRecheckSeconds}::int`)}) as promised
                   from fare_schedule s
                   join tracked_fare f on f.id = s.tracked_fare_id
                   join recheck_payer before on before.reseller_id = s.payer
                  cross join lateral (
                    select greatest(${minRecheckSeconds}::int, f.min_interval_seconds, 1)::float8 as seconds) m
                  group by s.payer) q on q.payer = p.reseller_id
     order by p.reseller_id
  `.execute(tx)
  const parts = divideBudget(rows, requestsPerSecond)
  const free = rows.map((row, i) => freeTickets(row, (parts[i] ?? 1) * requestsPerSecond))
  const fares = rows.reduce((sum, row) => sum + row.fares, 0)
  // First, as in a claim: two that meet do not deadlock.
  await sql`
    update recheck_clock
       set fares = ${fares},
           requests_per_second = ${requestsPerSecond},
           min_recheck_seconds = ${minRecheckSeconds},
           expected_interval = make_interval(secs => ${fares / requestsPerSecond}::float8),
           counted_at = now()
  `.execute(tx)
  await sql`
    update recheck_payer p
       set tickets = n.tickets, fares = n.fares, budget_part = n.part, promised = n.promised, free_tickets = n.free
      from unnest(${rows.map(({ id }) => id)}::bigint[], ${rows.map(({ tickets }) => tickets)}::float8[],
                  ${rows.map(({ fares }) => fares)}::bigint[], ${parts}::float8[],
                  ${rows.map(({ promised }) => promised)}::float8[], ${free}::float8[])
             n (id, tickets, fares, part, promised, free)
     where p.reseller_id = n.id
       and (p.tickets, p.fares, p.budget_part, p.promised, p.free_tickets)
           is distinct from (n.tickets, n.fares, n.part, n.promised, n.free)
  `.execute(tx)
}

export interface CountRules {
  readonly requestsPerSecond: number
  readonly minRecheckSeconds: number
}

/**
 * Caps the virtual due time of fares whose minimum interval has ended, at one check of each fare of their payer from now,
 * and at the longest interval that the floor and its watches allow. Fares that another transaction holds are capped by the next call.
 *
 * `reschedule` puts the virtual due time at the end of the minimum interval, by the tickets of that moment. When many
 * fares are added meanwhile, the virtual clock slows down, and what was meant as an hour would take weeks. When the mean
 * ticket rises, a ticket at the old floor is below the new one until the next check.
 */
export async function capOverdue(tx: Tx): Promise<void> {
  const promised = promisedTicket(
    maxDelayOf(sql`s.payer`, sql`clock.min_recheck_seconds`),
    sql`clock.requests_per_second`,
  )
  await sql`
    with overdue as materialized (
      select s.tracked_fare_id as id, c.cap
        from fare_schedule s
        join recheck_payer p on p.reseller_id = s.payer
        join tracked_fare f on f.id = s.tracked_fare_id
       cross join recheck_clock clock
       cross join lateral (
         select p.v + 1 / greatest(s.ticket, ${FLOOR}::float8 * p.tickets / greatest(p.fares, 1), ${promised}) as cap) c
       where s.not_before <= now() and s.leased_until <= now() and s.vdue > c.cap
         for update of s skip locked
    )
    update fare_schedule s set vdue = o.cap from overdue o where s.tracked_fare_id = o.id
  `.execute(tx)
}
