import { sql, type Tx } from '../db/database.ts'
import { MOST_PROMISED } from '../watch/most-promised.ts'
import { type CountRules, readPayers } from './payers.ts'
import { balanceQueues, LEAST_GAIN, type Move, type SharedFare } from './policy/balance-queues.ts'
import { CAP, DAY_SECONDS, FIRST_RATE, FLOOR } from './policy/ticket.ts'
import { maxDelayIn, type StoredFare, sumsOf, weightFor } from './rate-fares.ts'
import { EVENT_VALUE, RATE } from './rate-in-sql.ts'

type OfSchedule = 'payer' | 'ticket' | 'resellers' | 'weights' | 'maxDelays' | 'minIntervalSeconds'

interface SlowFare extends Pick<StoredFare, OfSchedule> {
  readonly id: number
  readonly value: number
  readonly changesPerDay: number
}

/** The next minute moves the others. */
const MOST_MOVES = 10_000

/**
 * Moves shared fares to the queue of the reseller where their expected interval is shorter, as last counted. Fares that
 * another transaction holds, or that are being checked, are moved by a later call. Returns how many were moved.
 */
export async function moveSharedFares(tx: Tx, rules: CountRules): Promise<number> {
  const slow = await lockFares(tx, await findSlowFares(tx, rules))
  if (slow.length === 0) return 0
  const payers = await readPayers(
    tx,
    slow.flatMap(({ payer, resellers }) => [payer, ...resellers]),
  )
  const queues = [...payers].map(
    ([id, payer]) =>
      [id, sumsOf({ ...payer, tickets: payer.freeTickets }, rules.requestsPerSecond)] as const,
  )
  const moves = balanceQueues(
    slow.map((fare) => sharedFare(fare, rules)),
    new Map(queues),
  )
  if (moves.length > 0) await saveMoves(tx, moves)
  return moves.length
}

function sharedFare(fare: SlowFare, { minRecheckSeconds }: CountRules): SharedFare {
  const { id, payer, ticket, resellers, value, changesPerDay, minIntervalSeconds } = fare
  const worths = resellers.map((reseller) => {
    const maxDelaySeconds = maxDelayIn(fare, reseller, minRecheckSeconds)
    const weight = weightFor(fare, reseller)
    return [reseller, { weight, value, changesPerDay, maxDelaySeconds }] as const
  })
  return {
    id,
    payer,
    ticket,
    worths: new Map(worths),
    minIntervalSeconds: Math.max(minRecheckSeconds, minIntervalSeconds ?? 0),
  }
}

/**
 * Finds the shared fares whose interval another queue would make shorter, those first that gain the most. `balanceQueues`
 * computes the intervals again, as they are after each move.
 */
async function findSlowFares(
  tx: Tx,
  { requestsPerSecond, minRecheckSeconds }: CountRules,
): Promise<SlowFare[]> {
  const { rows } = await sql<SlowFare>`
    with queue as materialized (
      select reseller_id as id, p.fares, p.free_tickets as tickets, p.budget_part * ${requestsPerSecond}::float8 as per_second,
             ${CAP * DAY_SECONDS}::float8 * p.budget_part * ${requestsPerSecond}::float8 / nullif(p.fares, 0) as most_changes,
             greatest(1, p.promised / (${MOST_PROMISED}::float8 * p.budget_part * ${requestsPerSecond}::float8)) as excess
        from recheck_payer p
    ), shared as materialized (
      select q.tracked_fare_id as id, q.payer, q.ticket, f.resellers, f.weights, f.max_delays, f.min_interval_seconds,
             ${EVENT_VALUE} as value, coalesce(q.changes_per_day, nullif(${RATE}, 0), ${FIRST_RATE}::float8) as rate
        from tracked_fare f
        join fare_schedule q on q.tracked_fare_id = f.id
       where cardinality(f.resellers) > 1 and q.leased_until <= now()
    ), slow as (
      select id, min(seconds) filter (where is_present) / greatest(min(seconds), 1e-9) as gain
        from (select s.id, queue.id = s.payer as is_present,
                     greatest(${minRecheckSeconds}::int, s.min_interval_seconds,
                              least(queue.tickets / sqrt(r.weight * s.value * least(s.rate, queue.most_changes)) / queue.per_second,
                                    queue.fares / (${FLOOR}::float8 * queue.per_second),
                                    r.max_delay * queue.excess)) as seconds
                from shared s
               cross join lateral unnest(s.resellers, s.weights, s.max_delays) r (payer, weight, max_delay)
                join queue on queue.id = r.payer) place
       group by id
      having min(seconds) filter (where is_present) > ${LEAST_GAIN}::float8 * min(seconds)
       order by gain desc
       limit ${MOST_MOVES}
    )
    select s.id, s.payer, s.ticket, s.resellers, s.weights, s.max_delays as "maxDelays",
           s.min_interval_seconds as "minIntervalSeconds", s.value, s.rate as "changesPerDay"
      from slow
      join shared s using (id)
     order by slow.gain desc, s.id
  `.execute(tx)
  return rows
}

/**
 * Those of the fares that are not being checked and whose payer and resellers are still the same, locked until the transaction
 * ends.
 */
async function lockFares(tx: Tx, fares: readonly SlowFare[]): Promise<SlowFare[]> {
  const { rows: locked } = await sql<{ id: number }>`
    select tracked_fare_id as id
      from fare_schedule
     where tracked_fare_id = any(${fares.map(({ id }) => id)}::bigint[]) and leased_until <= now()
       for update skip locked
  `.execute(tx)
  // Read after the lock: watches may have changed before it, and cannot change while it is held.
  const { rows } = await sql<Pick<SlowFare, 'id' | 'payer' | 'resellers'>>`
    select q.tracked_fare_id as id, q.payer, f.resellers
      from fare_schedule q
      join tracked_fare f on f.id = q.tracked_fare_id
     where q.tracked_fare_id = any(${locked.map(({ id }) => id)}::bigint[])
  `.execute(tx)
  const present = new Map(rows.map((row) => [row.id, row]))
  return fares.filter(({ id, payer, resellers }) => {
    const now = present.get(id)
    return now?.payer === payer && String(now.resellers) === String(resellers)
  })
}

/**
 * Writes the moves. The virtual due time keeps its distance from the clock of the queue, as a part of the interval. The sums of
 * the queues follow at once: the tickets of the next checks are computed from them.
 */
async function saveMoves(tx: Tx, moves: readonly Move[]): Promise<void> {
  await sql`
    update fare_schedule s
       set payer = m.payer,
           vdue = p.v + (s.vdue - old.v) * s.ticket / m.ticket,
           ticket = m.ticket
      from unnest(${moves.map(({ id }) => id)}::bigint[], ${moves.map(({ to }) => to.payer)}::bigint[],
                  ${moves.map(({ to }) => to.ticket)}::float8[]) m (id, payer, ticket)
      join recheck_payer p on p.reseller_id = m.payer
     cross join recheck_payer old
     where s.tracked_fare_id = m.id and old.reseller_id = s.payer
  `.execute(tx)
  await sql`select from recheck_clock for update`.execute(tx)
  await sql`
    update recheck_payer p
       set tickets = greatest(0, p.tickets + d.tickets),
           free_tickets = greatest(0, p.free_tickets + d.tickets),
           fares = greatest(0, p.fares + d.fares),
           promised = greatest(0, p.promised + d.promised)
      from (select payer, sum(tickets) as tickets, sum(fares) as fares, sum(promised) as promised
              from unnest(${moves.flatMap(({ from, to }) => [from.payer, to.payer])}::bigint[],
                          ${moves.flatMap(({ from, to }) => [-from.ticket, to.ticket])}::float8[],
                          ${moves.flatMap(() => [-1, 1])}::int[],
                          ${moves.flatMap(({ from, to }) => [-from.promised, to.promised])}::float8[])
                     m (payer, tickets, fares, promised)
             group by payer) d
     where p.reseller_id = d.payer
  `.execute(tx)
}
