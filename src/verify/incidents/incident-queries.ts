import type { HeldKind, IncidentKind, MassKind } from '../../base/kinds.ts'
import { type Db, PREPARED, type RawBuilder, sql, type Tx } from '../../db/database.ts'
import { selectOne } from '../../db/transaction.ts'
import {
  type CheckCounts,
  type Incident,
  MASS_RULES,
  type MassCounts,
  type MassRule,
  TROUBLE_OVER_MINIMUM,
} from './incident.ts'

export interface IncidentPage {
  /** true: open incidents only. false: closed ones only. */
  readonly open?: boolean | undefined
  /** The id of the last incident on the previous page. */
  readonly after?: number | undefined
  readonly limit: number
}

/** Lists incidents, newest first. */
export async function listIncidents(
  db: Db,
  { open, after, limit }: IncidentPage,
): Promise<Incident[]> {
  let query = db
    .selectFrom('incident')
    .select(['id', 'kind', 'opened_at as openedAt', 'closed_at as closedAt'])
    .orderBy('id', 'desc')
    .limit(limit)
  if (open !== undefined) query = query.where('closed_at', open ? 'is' : 'is not', null)
  if (after !== undefined) query = query.where('id', '<', after)
  return query.execute()
}

/** The kinds of the open incidents. */
export async function readOpenKinds(db: Db): Promise<IncidentKind[]> {
  const rows = await db
    .selectFrom('incident')
    .select('kind')
    .where('closed_at', 'is', null)
    .modifyEnd(PREPARED)
    .execute()
  return rows.map((row) => row.kind)
}

/** Fares `s` whose last answers showed a change that is not believed yet, by the kind of the change. */
const IS_WAITING: Readonly<Record<HeldKind, RawBuilder<boolean>>> = {
  became_unavailable: sql`
    coalesce(s.state #>> '{outbound,contradictions}' <> '0' or s.state #>> '{return,contradictions}' <> '0', false)
  `,
  identity_changed: sql`
    (s.state #>> '{outbound,candidate}' is not null or s.state #>> '{return,candidate}' is not null)
  `,
  itinerary_changed: sql`'itinerary_changed' = any(s.held)`,
  // A price where none was believed is no change.
  price_changed: sql`
    (s.price is not null
     and (s.state #>> '{outbound,candidatePrice}' is not null or s.state #>> '{return,candidatePrice}' is not null))
  `,
  expired: sql`coalesce(s.held_until > clock_timestamp(), false)`,
}

/**
 * False for a change `c` of the price that keeps the currency and moves the amount by a fifth or less; else true. `isUnusual`
 * (decide-price.ts) computes the same.
 */
export const IS_UNUSUAL = sql<boolean>`
  (c.kind <> 'price_changed'
   or coalesce(c.before #>> '{price,currency}' <> c.after #>> '{price,currency}'
               or 5 * abs((c.after #>> '{price,amount}')::numeric - (c.before #>> '{price,amount}')::numeric)
                  > (c.before #>> '{price,amount}')::numeric, false))
`

export function isWaiting({ holds }: MassRule): RawBuilder<boolean> {
  return IS_WAITING[holds]
}

/**
 * Counts recent changes of one kind, and the fares that the batch at hand would change (`changing`).
 *
 * A change that waits for its confirmation counts as made: by the time that each of a mass has its second answer, many
 * would be recorded. Fares that are no longer watched have no row in the schedule and do not count: they would wait
 * for ever.
 */
export async function readMassCounts(
  tx: Tx,
  rule: MassRule,
  changing: readonly number[],
): Promise<MassCounts> {
  const isChanging = sql`s.tracked_fare_id = any(${changing}::bigint[])`
  return selectOne(
    sql<MassCounts>`
      with changed as materialized (
             select distinct c.tracked_fare_id as id
               from availability_change c
              where c.kind = ${rule.holds} and ${IS_UNUSUAL} and c.recorded_at > clock_timestamp() - interval '5 minutes'),
           ended as (
             select count(*) as count from changed
              where not exists (select from fare_schedule q where q.tracked_fare_id = changed.id))
      select count(*) filter (where f.recent) + (select count from ended) as asked,
             count(*) filter (where f.recent and (f.waiting or f.changed)) + (select count from ended) as changed,
             count(*) filter (where f.waiting) as waiting
        from (select s.last_good_check_at > clock_timestamp() - interval '5 minutes' or ${isChanging}
                       or c.id is not null
                       or w.waiting and s.last_check_at > clock_timestamp() - interval '5 minutes' as recent,
                     w.waiting or ${isChanging} as waiting,
                     c.id is not null as changed
                from fare_schedule q
                join fare_state s using (tracked_fare_id)
                left join changed c on c.id = s.tracked_fare_id
               -- Offset 0: the state is read once a row.
               cross join lateral (select ${isWaiting(rule)} as waiting offset 0) w
               where s.pair = 'bookable' or c.id is not null) f
    `,
    tx,
  )
}

/**
 * Counts the checks of the last two minutes. While trouble is open, few checks are made: then older minutes of the last
 * day count too, newest first, until there are enough checks to decide that it is over.
 */
export async function readCheckCounts(tx: Tx, { open }: { open: boolean }): Promise<CheckCounts> {
  return selectOne(
    sql<CheckCounts>`${PREPARED}
      select coalesce(sum(checks), 0)::bigint as checks, coalesce(sum(unknown), 0)::bigint as unknown
        from (select minute, checks, unknown, sum(checks) over (order by minute desc) - checks as newer
                from check_minute
               where minute <= clock_timestamp()
                 and minute > clock_timestamp() - ${open ? '1 day' : '2 minutes'}::interval) m
       where newer < ${open ? TROUBLE_OVER_MINIMUM : 0} or minute > clock_timestamp() - interval '2 minutes'
    `,
    tx,
  )
}

/** Counts the fares with a change that waits, for each open incident of a mass of changes. */
export async function countHeld(db: Db): Promise<Partial<Record<MassKind, number>>> {
  const open = await readOpenKinds(db)
  const rules = MASS_RULES.filter(({ kind }) => open.includes(kind))
  const counts = rules.map(async (rule) => [rule.kind, await countWaiting(db, rule)] as const)
  return Object.fromEntries(await Promise.all(counts))
}

async function countWaiting(db: Db, rule: MassRule): Promise<number> {
  const { held } = await db
    .selectFrom('fare_state as s')
    .innerJoin('fare_schedule as q', 'q.tracked_fare_id', 's.tracked_fare_id')
    .select(({ fn }) => fn.countAll<number>().as('held'))
    .where('s.pair', '=', 'bookable')
    .where(isWaiting(rule))
    .executeTakeFirstOrThrow()
  return held
}

/** Whether any fare is still checked. */
export async function hasScheduledFares(tx: Tx): Promise<boolean> {
  const row = await tx.selectFrom('fare_schedule').select('tracked_fare_id').limit(1).execute()
  return row.length > 0
}
