import type { IncidentKind } from '../../base/kinds.ts'
import { type Db, sql, type Tx } from '../../db/database.ts'
import { selectOne } from '../../db/transaction.ts'
import {
  type CheckCounts,
  type Incident,
  type LossCounts,
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
    .execute()
  return rows.map((row) => row.kind)
}

/** A fare whose last counted answer contradicts what is believed of one of its legs. */
export const HAS_CONTRADICTION = sql<boolean>`
  (s.state #>> '{outbound,contradictions}' <> '0' or s.state #>> '{return,contradictions}' <> '0')
`

/**
 * Counts recent losses, and the fares that the batch at hand would lose (`losing`).
 *
 * A loss that waits for its confirmation counts as lost: by the time that each of a mass has its second answer, many
 * would be recorded. Fares that are no longer watched have no row in the schedule and do not count: they would wait
 * for ever.
 */
export async function readLossCounts(tx: Tx, losing: readonly number[]): Promise<LossCounts> {
  const isLosing = sql`tracked_fare_id = any(${losing}::bigint[])`
  return selectOne(
    sql<LossCounts>`
      select count(*) filter (where f.recent and not f.waiting) as bookable,
             count(*) filter (where f.recent and f.waiting)
               + (select count(*) from availability_change
                   where kind = 'became_unavailable' and recorded_at > clock_timestamp() - interval '5 minutes') as lost,
             count(*) filter (where f.waiting) as waiting
        from (select s.last_good_check_at > clock_timestamp() - interval '5 minutes' or ${isLosing} as recent,
                     coalesce(${HAS_CONTRADICTION}, false) or ${isLosing} as waiting
                from fare_state s
                join fare_schedule using (tracked_fare_id)
               where s.pair = 'bookable') f
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
    sql<CheckCounts>`
      select coalesce(sum(checks), 0)::bigint as checks, coalesce(sum(unknown), 0)::bigint as unknown
        from (select minute, checks, unknown, sum(checks) over (order by minute desc) - checks as newer
                from check_minute
               where minute > clock_timestamp() - ${open ? '1 day' : '2 minutes'}::interval) m
       where newer < ${open ? TROUBLE_OVER_MINIMUM : 0} or minute > clock_timestamp() - interval '2 minutes'
    `,
    tx,
  )
}

/** Counts the fares that are still believed bookable although their last answer was "unavailable". */
export async function countHeldLosses(db: Db): Promise<number> {
  const { held } = await db
    .selectFrom('fare_state as s')
    .innerJoin('fare_schedule as q', 'q.tracked_fare_id', 's.tracked_fare_id')
    .select(({ fn }) => fn.countAll<number>().as('held'))
    .where('s.pair', '=', 'bookable')
    .where(HAS_CONTRADICTION)
    .executeTakeFirstOrThrow()
  return held
}

/** Whether any fare is still checked. */
export async function hasScheduledFares(tx: Tx): Promise<boolean> {
  const row = await tx.selectFrom('fare_schedule').select('tracked_fare_id').limit(1).execute()
  return row.length > 0
}
