import { type Db, PREPARED, type RawBuilder, sql, type Tx } from '../platform/db/database.ts'
import { type AllFares, MEMORY_SECONDS, NOTHING_KNOWN } from './score.ts'

/** The part of a reseller's checks that its longest delays may take. */
export const MOST_PROMISED = 0.7
/** λ counts up to three changes during one round of its fares, so that those which change more often than they can be followed do not use up the budget. */
const MOST_CHANGES_A_ROUND = 3
const DAY_SECONDS = 86_400

/**
 * The queues, with what follows from the budget and the shares: `part`, the checks a second of the reseller's own;
 * `alone`, how fast its virtual time would move with them; `speed`, how fast it moves, at most by a round of mean scores in
 * the shortest interval, beyond which it waits for that; `kept`, the part of its longest delays that is kept; `most_changes` a day that count of a fare; `mean_score`.
 */
export const QUEUES = sql`
  select q.reseller_id, q.pass, q.v, q.fares, q.promised, b.part, d.alone, least(greatest(q.speed, d.alone), d.most) as speed,
         q.scores / greatest(1, q.fares) as mean_score,
         ${MOST_CHANGES_A_ROUND * DAY_SECONDS}::float8 * b.part / greatest(1, q.fares) as most_changes,
         case when q.promised > 0 then least(1, ${MOST_PROMISED}::float8 * b.part / q.promised) else 1 end as kept
    from reseller_queue q
    join reseller r on r.id = q.reseller_id
   cross join (select sum(a.share)::float8 as shares
                 from reseller_queue o join reseller a on a.id = o.reseller_id where o.fares > 0) n
   cross join schedule_facts w
   cross join lateral (
         select coalesce(w.requests_per_second, 1) * r.share / coalesce(nullif(n.shares, 0), 1) as part) b
   cross join lateral (
         select b.part / greatest(1e-6, q.scores) as alone,
                coalesce(q.fares / nullif(q.scores * w.min_recheck_seconds, 0), 'infinity') as most) d
`

/**
 * The longest time between two checks of turn `t` in queue `p` to expect, in seconds: by the reseller's own part, and by
 * what its watches ask.
 */
export const OWN_SECONDS = sql`
  greatest((select min_recheck_seconds from schedule_facts), t.min_seconds,
           least(1 / nullif(t.score * p.alone, 0), t.max_seconds / p.kept))
`

/** The longest delays of fares in seconds, of those that have one, stretched where a reseller's part does not suffice. */
export function longestDelays(fareIds: readonly number[]): RawBuilder<unknown> {
  return sql`
    select t.tracked_fare_id, min(t.max_seconds / p.kept) as seconds
      from turn t
      join (${QUEUES}) p using (reseller_id)
     where t.tracked_fare_id = any(${fareIds}::bigint[]) and t.max_seconds is not null
     group by t.tracked_fare_id
  `
}

/** What is added to the queue of a reseller. */
export interface QueueChange {
  readonly id: number
  readonly fares?: number
  readonly scores?: number
  readonly promised?: number
  /** Fares that came forward because another one of their route has changed. */
  readonly neighbours?: number
}

/** In the order of their numbers: transactions that meet must not deadlock. */
export async function changeQueues(tx: Tx, changes: readonly QueueChange[]): Promise<void> {
  if (changes.length === 0) return
  await sql`${PREPARED}
    with change as materialized (
      select id, coalesce(sum(fares), 0) as fares, coalesce(sum(scores), 0) as scores,
             coalesce(sum(promised), 0) as promised, coalesce(sum(neighbours), 0) as neighbours
        from jsonb_to_recordset(${JSON.stringify(changes)}::jsonb)
          as c (id bigint, fares bigint, scores float8, promised float8, neighbours int)
       group by id
    ), locked as materialized (
      select p.reseller_id from reseller_queue p join change c on c.id = p.reseller_id order by p.reseller_id for update of p
    )
    update reseller_queue p
       set fares = p.fares + c.fares, scores = greatest(0, p.scores + c.scores),
           promised = greatest(0, p.promised + c.promised), credit = p.credit - c.neighbours
      from locked l
      join change c on c.id = l.reseller_id
     where p.reseller_id = l.reseller_id
  `.execute(tx)
}

/** A score counts at least as a fifth of its reseller's mean: no interval is longer than about five times the mean. */
const LEAST_OF_MEAN = 0.2

/** The score of a turn `t` in queue `p`, of a fare with these expected changes a day and this value of its events. */
export function scoreOf(changes: string, value: string) {
  return sql`
    greatest(1e-6, ${LEAST_OF_MEAN}::float8 * p.mean_score,
             sqrt(t.weight * ${sql.ref(value)} * least(${sql.ref(changes)}, p.most_changes)))
  `
}

/** What the sums of all fares are now, from row `a`: they decay by the database's clock. */
const KEPT = sql`
  exp(-greatest(0, extract(epoch from clock_timestamp() - a.learned_at)::float8) / ${MEMORY_SECONDS}::float8)
`
const SUMS = [
  'available_changes',
  'available_exposure',
  'unavailable_changes',
  'unavailable_exposure',
  'soon_found',
  'soon_expected',
] as const

type Sums = Readonly<Record<(typeof SUMS)[number], number>>

/** What the checks of all fares have shown together. */
export async function readAllFares(db: Db): Promise<AllFares> {
  const columns = SUMS.map((sum) => sql`a.${sql.ref(sum)} * ${KEPT} as ${sql.ref(sum)}`)
  const { rows } = await sql<Sums>`${PREPARED}
    select ${sql.join(columns)} from schedule_facts a
  `.execute(db)
  const [row] = rows
  if (row === undefined) return NOTHING_KNOWN
  return {
    rates: {
      available: { changes: row.available_changes, exposure: row.available_exposure },
      unavailable: { changes: row.unavailable_changes, exposure: row.unavailable_exposure },
    },
    soon: { found: row.soon_found, expected: row.soon_expected },
  }
}

export async function addLessons(tx: Tx, { rates, soon }: AllFares): Promise<void> {
  if (rates.available.exposure + rates.unavailable.exposure === 0) return
  const more: Sums = {
    available_changes: rates.available.changes,
    available_exposure: rates.available.exposure,
    unavailable_changes: rates.unavailable.changes,
    unavailable_exposure: rates.unavailable.exposure,
    soon_found: soon.found,
    soon_expected: soon.expected,
  }
  const added = SUMS.map(
    (sum) => sql`${sql.ref(sum)} = a.${sql.ref(sum)} * ${KEPT} + ${more[sum]}::float8`,
  )
  await sql`${PREPARED}
    update schedule_facts a set learned_at = clock_timestamp(), ${sql.join(added)}
  `.execute(tx)
}
