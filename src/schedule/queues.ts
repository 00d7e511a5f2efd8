import { type Db, PREPARED, type RawBuilder, sql, type Tx } from '../platform/db/database.ts'
import { notify } from '../platform/db/listener.ts'
import { affected, selectOne } from '../platform/db/transaction.ts'
import { type AllFares, changesPerDay, MEMORY_SECONDS, NEW_FARE } from './score.ts'

/** The part of a reseller's checks that its longest delays may take. */
export const MOST_PROMISED = 0.7
/**
 * λ counts up to three changes during one round of its fares, so that those which change more often than they can be
 * followed do not use up the budget.
 */
const MOST_CHANGES_A_ROUND = 3
const DAY_SECONDS = 86_400

/**
 * The queues, with what follows from the budget and the shares:
 * `part`, the checks a second of the reseller's own; `alone`, how fast its virtual time would move with them;
 * `speed`, how fast it moves, at most by a round of mean scores in the minimum interval, beyond which it waits for that;
 * `kept`, the part of its longest delays that is kept; `most_changes` a day that count of a fare; `mean_score`.
 */
export const QUEUES = sql`
  select q.reseller_id, q.pass, q.v, q.moved_at, q.fares, q.promised, b.part, d.alone,
         least(greatest(q.speed, d.alone), d.most) as speed,
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
         select (b.part - least(q.promised, ${MOST_PROMISED}::float8 * b.part)) / greatest(1e-6, q.scores) as alone,
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

/** In how many seconds turn `t` of queue `p` comes, as fast as that moves: since its last turn, because it stands between two. */
export const DUE_SECONDS = sql`
  greatest(0, (t.vdue - p.v) / nullif(p.speed, 0) - greatest(0, extract(epoch from clock_timestamp() - p.moved_at)::float8))
`

/**
 * The due time of turn `t` in queue `p`: one interval from now, or the fare's shortest one if that is longer. Of that at most
 * a round of mean scores counts: more would be too long where the queue slows down. What the reseller asks beyond the other
 * watches of the fare counts in full.
 */
export function dueAfter(score: Sql, fareSeconds: Sql, ownSeconds: Sql): Sql {
  return sql`
    p.v + greatest(1 / ${score},
                   case when ${ownSeconds} > ${fareSeconds} then ${ownSeconds} * p.speed
                        else least(${fareSeconds} * p.speed, 1 / nullif(p.mean_score, 0)) end)
  `
}

type Sql = RawBuilder<unknown>

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

/**
 * The last statement of its transaction: claims wait for the rows that it locks. In the order of their numbers, because
 * transactions that meet must not deadlock.
 */
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
  const sums = await selectOne(
    sql<Sums>`${PREPARED} select ${sql.join(columns)} from schedule_facts a`,
    db,
  )
  return {
    rates: {
      available: { changes: sums.available_changes, exposure: sums.available_exposure },
      unavailable: { changes: sums.unavailable_changes, exposure: sums.unavailable_exposure },
    },
    soon: { found: sums.soon_found, expected: sums.soon_expected },
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

const DEFAULT_MIN_INTERVAL_SECONDS = 60

/**
 * The minimum interval of fare `f`. The default is for a fare whose watches set none, before a worker has said
 * what the configuration sets.
 */
const INTERVAL = sql`
  coalesce(
    greatest(f.min_interval_seconds, (select min_recheck_seconds from schedule_facts)),
    ${DEFAULT_MIN_INTERVAL_SECONDS}::int)
`

/** The end of the minimum interval that follows the last check of fare `f` with state `s`. */
const EARLIEST_CHECK = sql`
  greatest(clock_timestamp(), s.last_check_at + make_interval(secs => ${INTERVAL}))
`

/**
 * Follows what the active watches of fares ask for. A fare is scheduled with its first active watch, and stands in the
 * queue of each reseller that watches it: in a new one anywhere in its first interval, so that an import is spread over
 * it. A fare whose watches have changed keeps its turns, but none lies further ahead than one interval as it is now.
 *
 * @param watches the active watches of the fares by reseller, as SQL: `fare`, `reseller_id`, `weight`, `min_seconds`,
 * `max_seconds`.
 * @returns what the caller adds to the queues, as its last statement.
 */
export async function follow(
  tx: Tx,
  fareIds: readonly number[],
  watches: RawBuilder<unknown>,
): Promise<readonly QueueChange[]> {
  await sql`
    insert into fare_schedule (tracked_fare_id, not_before, interval_seconds)
    select fare.id, ${EARLIEST_CHECK}, ${INTERVAL}
      from unnest(${fareIds}::bigint[]) fare (id)
      join tracked_fare f on f.id = fare.id and f.watchers > 0
      left join fare_state s on s.tracked_fare_id = fare.id
     where s.expired_at is null
     order by fare.id
        on conflict (tracked_fare_id) do update
       set not_before = excluded.not_before, interval_seconds = excluded.interval_seconds
     where fare_schedule.claim_id is null and fare_schedule.not_before > excluded.not_before
  `.execute(tx)
  const changes = await changeTurns(tx, fareIds, watches)
  await hastenLongest(tx, fareIds)
  return changes
}

async function changeTurns(
  tx: Tx,
  fareIds: readonly number[],
  watches: RawBuilder<unknown>,
): Promise<readonly QueueChange[]> {
  const changes = changesPerDay(await readAllFares(tx), NEW_FARE, 0)
  await sql`
    insert into reseller_queue (reseller_id, pass)
    select distinct w.reseller_id, a.pass from (${watches}) w cross join schedule_facts a order by w.reseller_id
        on conflict do nothing
  `.execute(tx)
  const { rows } = await sql<QueueChange>`
    with queue as materialized (${QUEUES}), asked as materialized (
      select w.* from (${watches}) w join fare_schedule q on q.tracked_fare_id = w.fare
    ), left_ as (
      delete from turn t
       where t.tracked_fare_id = any(${fareIds}::bigint[])
         and not exists (select from asked w where w.fare = t.tracked_fare_id and w.reseller_id = t.reseller_id)
      returning t.reseller_id, t.score, t.promised
    ), joined as (
      insert into turn as o (tracked_fare_id, reseller_id, weight, min_seconds, max_seconds, promised, score, vdue)
      select t.fare, t.reseller_id, t.weight, t.min_seconds, t.max_seconds, ${PROMISED}, n.score, p.v + random() / n.score
        from asked t
        join fare_schedule q on q.tracked_fare_id = t.fare
        join queue p using (reseller_id)
       cross join lateral (
             select coalesce(q.changes_per_day, ${changes}) as changes,
                    case q.rated_state when 'unavailable' then q.unavailable_value else q.available_value end as value) k
       cross join lateral (select ${scoreOf('k.changes', 'k.value')} as score) n
          on conflict (tracked_fare_id, reseller_id) do update
         set weight = excluded.weight, min_seconds = excluded.min_seconds, max_seconds = excluded.max_seconds,
             promised = excluded.promised, score = ${RESCORED},
             -- At most what is an interval now.
             vdue = least(o.vdue, (select ${dueAfter(RESCORED, sql`q.interval_seconds`, sql`excluded.min_seconds`)}
                                     from queue p, fare_schedule q
                                    where p.reseller_id = o.reseller_id and q.tracked_fare_id = o.tracked_fare_id))
       where (o.weight, o.min_seconds, o.max_seconds) is distinct from (excluded.weight, excluded.min_seconds, excluded.max_seconds)
      returning new.reseller_id, (old.tracked_fare_id is null)::int as fares, new.score - coalesce(old.score, 0) as scores,
                new.promised - coalesce(old.promised, 0) as promised
    ), moved as (
      select reseller_id, -1 as fares, -score as scores, -promised as promised from left_
       union all
      select * from joined
    )
    select reseller_id as id, sum(fares) as fares, sum(scores) as scores, sum(promised) as promised
      from moved group by reseller_id
  `.execute(tx)
  return rows
}

/** The score of turn `o` after a change of its weight. */
const RESCORED = sql`(o.score * sqrt(excluded.weight / o.weight))`

/** The checks a second that the longest delay of turn `t` needs; 0 where it has none. */
const PROMISED = sql`
  case when t.max_seconds is null then 0
       else 1.0::float8 / greatest(t.max_seconds, t.min_seconds, (select min_recheck_seconds from schedule_facts), 1) end
`

/** A longest delay counts from the last check. A fare that is urgent sooner stays so. */
async function hastenLongest(tx: Tx, fareIds: readonly number[]): Promise<void> {
  await sql`
    with longest as materialized (${longestDelays(fareIds)})
    update fare_schedule q
       set lane = d.lane, lane_due_at = d.due, lane_reseller = null
      from (select q.tracked_fare_id as id, case when m.due is not null then 'max_delay' end as lane, m.due
              from fare_schedule q
              join tracked_fare f on f.id = q.tracked_fare_id
              join fare_state s on s.tracked_fare_id = f.id
              left join longest l on l.tracked_fare_id = f.id
              left join lateral (
                   select s.last_check_at + make_interval(secs => greatest(l.seconds, q.interval_seconds)) as due) m
                on l.seconds is not null
             where q.tracked_fare_id = any(${fareIds}::bigint[]) and q.claim_id is null
               and (q.lane is null and m.due is not null or q.lane = 'max_delay' or q.lane_due_at > m.due)) d
     where q.tracked_fare_id = d.id and (q.lane, q.lane_due_at) is distinct from (d.lane, d.due)
  `.execute(tx)
}

/**
 * Takes fares out of the schedule. A check that is claimed finds its claim gone. Returns what the caller adds to the
 * queues, as its last statement.
 */
export async function unfollow(
  tx: Tx,
  fareIds: readonly number[],
): Promise<readonly QueueChange[]> {
  if (fareIds.length === 0) return []
  const changes = await changeTurns(tx, fareIds, NO_WATCHES)
  await sql`delete from fare_schedule where tracked_fare_id = any(${fareIds}::bigint[])`.execute(tx)
  return changes
}

const NO_WATCHES = sql`
  select 0::bigint as fare, 0::bigint as reseller_id, 1::float8 as weight, null::int as min_seconds, null::int as max_seconds where false
`

/**
 * Locks the schedule of fares against the recording of checks, in the order of their ids. Every transaction takes
 * its locks in one order: tracked fares, schedule, beliefs, feeds, watches, the minute, queues.
 */
export async function hold(tx: Tx, fareIds: readonly number[]): Promise<void> {
  await sql`
    select from fare_schedule
     where tracked_fare_id = any(${fareIds}::bigint[])
     order by tracked_fare_id
       for update
  `.execute(tx)
}

/**
 * Has fares checked now, in the lane of confirmations: the first of those that are not due there already. A check that is
 * claimed already will do.
 */
export async function expedite(
  tx: Tx,
  fareIds: readonly number[],
  most = fareIds.length,
): Promise<number> {
  if (fareIds.length === 0) return 0
  await sql`select ${notify('due')}`.execute(tx)
  return affected(
    sql`
      update fare_schedule
         set lane = 'confirmation', lane_reseller = null, lane_due_at = clock_timestamp()
       where tracked_fare_id in (
             select tracked_fare_id
               from fare_schedule
              where tracked_fare_id = any(${fareIds}::bigint[]) and claim_id is null
              order by (lane = 'confirmation' and lane_due_at <= clock_timestamp()) is true,
                       array_position(${fareIds}::bigint[], tracked_fare_id)
              limit ${most}
                for update skip locked)
    `,
    tx,
  )
}

/** So many fares come forward at once. Each that answers brings the next ones. */
const FORWARD = 500

/**
 * Ends the pauses of fares that were not answered for one of these reasons, because another one is answered again: each
 * is due at some time in the interval that it had. Skips fares that another transaction has locked.
 */
export async function comeForward(tx: Tx, reasons: readonly string[]): Promise<void> {
  if (reasons.length === 0) return
  await sql`
    with waiting as materialized (
      select s.tracked_fare_id
        from fare_state s
        join fare_schedule p using (tracked_fare_id)
       where s.hidden = 'unanswered' and s.last_reason = any(${reasons}::text[])
         and p.claim_id is null and p.not_before > clock_timestamp()
       limit ${FORWARD}
         for update of p skip locked
    ), sooner as (
      update turn t
         set vdue = least(t.vdue, p.v + random() / t.score)
        from waiting w, reseller_queue p
       where t.tracked_fare_id = w.tracked_fare_id and p.reseller_id = t.reseller_id
    )
    update fare_schedule q
       set not_before = clock_timestamp(), interval_seconds = ${INTERVAL}
      from waiting
      join tracked_fare f on f.id = waiting.tracked_fare_id
     where q.tracked_fare_id = waiting.tracked_fare_id
  `.execute(tx)
}

/** A fare whose new watch waits for a good check, and the reseller of that watch. */
export interface FirstCheck {
  readonly fareId: number
  readonly resellerId: number
}

/**
 * Puts fares, whose watches wait for a good check, into the lane of new watches. A check that is claimed already
 * will do; where the process that holds the claim has died, the fare is due in this lane at the end of the lease. A
 * loss that waits for its confirmation keeps the time between the two checks.
 */
export async function expediteFirstChecks(tx: Tx, checks: readonly FirstCheck[]): Promise<void> {
  if (checks.length === 0) return
  await sql`
    update fare_schedule s
       set lane = coalesce(nullif(s.lane, 'max_delay'), 'first_check'),
           lane_reseller = case when s.lane is null or s.lane = 'max_delay' then c.reseller_id else s.lane_reseller end,
           lane_due_at = greatest(clock_timestamp(), s.leased_until)
      from unnest(${checks.map(({ fareId }) => fareId)}::bigint[], ${checks.map(({ resellerId }) => resellerId)}::bigint[])
             c (fare_id, reseller_id)
     where s.tracked_fare_id = c.fare_id and s.lane is distinct from 'confirmation'
  `.execute(tx)
}

/** So many fares of a route come forward when one of it changes, if they were not checked for so long. */
const [NEIGHBOURS, UNCHECKED_SECONDS] = [4, 900]

/**
 * Fares of these routes have changed: for each change the next four fares come forward in their queues, those with the most
 * score for the time since their last check. Where these have changed too, they do the same. They take at most two fifths
 * of the turns of a reseller. Fares that another transaction holds are left: no lock order is safe here. Returns what the
 * caller adds to the queues.
 */
export async function bringNeighbours(tx: Tx, routes: readonly string[]): Promise<QueueChange[]> {
  if (routes.length === 0) return []
  const { rows } = await sql<QueueChange>`
    with found as materialized (
      select n.id
        from (select route, count(*) as changes from unnest(${routes}::text[]) route group by route) r
       cross join lateral (
             select q.tracked_fare_id as id
               from fare_schedule q
              where q.route = r.route and q.claim_id is null and not q.route_moved
                and coalesce(q.rated_at, '-infinity') < clock_timestamp() - make_interval(secs => ${UNCHECKED_SECONDS})
                and exists (select from turn t join reseller_queue p using (reseller_id)
                             where t.tracked_fare_id = q.tracked_fare_id and p.credit >= 1 and p.v < t.vdue)
              order by (select max(t.score) from turn t where t.tracked_fare_id = q.tracked_fare_id)
                         * extract(epoch from clock_timestamp() - coalesce(q.rated_at, 'epoch')) desc
              limit ${NEIGHBOURS} * r.changes) n
    ), locked as materialized (
      select q.tracked_fare_id as id
        from fare_schedule q
       where q.tracked_fare_id in (select id from found) and q.claim_id is null
         for update skip locked
    ), next as materialized (
      select t.tracked_fare_id as id, p.reseller_id, p.v, p.credit,
             row_number() over (partition by p.reseller_id order by t.score desc, t.tracked_fare_id) as rank
        from locked l
        join turn t on t.tracked_fare_id = l.id
        join reseller_queue p on p.reseller_id = t.reseller_id and p.v < t.vdue
    ), forward as (
      update turn t
         set vdue = n.v
        from next n
       where t.tracked_fare_id = n.id and t.reseller_id = n.reseller_id and n.rank <= n.credit
      returning t.reseller_id, n.id
    ), moved as (
      update fare_schedule q set route_moved = true where q.tracked_fare_id in (select id from forward)
    )
    select reseller_id as id, count(*)::int as neighbours from forward group by reseller_id
  `.execute(tx)
  return rows
}

/** A reseller whose fares take turns. */
export interface Taker {
  readonly resellerId: number
  readonly share: number
  /** Who has the smallest comes next. A turn moves it by 1 / share. */
  readonly pass: number
}

/** A reseller that had nothing to check comes back at most so many turns before the others, not with savings. */
export const MOST_SAVED_TURNS = 2

/** Resellers with something to check, those that had nothing for a while at most two turns before the others. */
export function withoutSavings(takers: readonly Taker[], least: number): Taker[] {
  return takers.map((taker) => {
    return { ...taker, pass: Math.max(taker.pass, least - MOST_SAVED_TURNS / taker.share) }
  })
}

/**
 * How many of the next turns each reseller takes, by its number: each time the one with the smallest pass.
 * @example shareTurns([{ resellerId: 1, share: 3, pass: 0 }, { resellerId: 2, share: 1, pass: 0 }], 4) // 1: 3, 2: 1
 */
export function shareTurns(takers: readonly Taker[], turns: number): Map<number, number> {
  const counts = new Map<number, number>()
  const waiting = takers.map((taker) => ({ ...taker }))
  for (let turn = 0; turn < turns && waiting.length > 0; turn += 1) {
    const next = waiting.reduce((a, b) => (b.pass < a.pass ? b : a))
    next.pass += 1 / next.share
    counts.set(next.resellerId, (counts.get(next.resellerId) ?? 0) + 1)
  }
  return counts
}
