import { type RawBuilder, sql, type Tx } from '../../db/database.ts'
import { selectOne } from '../../db/transaction.ts'
import { type CheckCounts, type LossCounts, TROUBLE_OVER_MINIMUM } from './incident.ts'
import type { IncidentKind } from './incident-queries.ts'

/** Which incidents are open. */
export async function readOpenKinds(tx: Tx): Promise<IncidentKind[]> {
  const { rows } = await sql<{ kind: IncidentKind }>`
    select kind from incident where closed_at is null
  `.execute(tx)
  return rows.map((row) => row.kind)
}

/**
 * What was asked within five minutes, and `waiting`: what waits to be lost, whenever it was asked. Losses that wait
 * count as lost: by the time that each has its second answer, many would be recorded. A fare that nobody watches any more
 * has no turn, and counts for nothing: it would wait for ever.
 */
export async function readLossCounts(
  tx: Tx,
  losing: readonly number[],
): Promise<LossCounts & { waiting: number }> {
  return selectOne(
    sql<LossCounts & { waiting: number }>`
      select count(*) filter (where f.asked and not f.gone) as bookable,
             count(*) filter (where f.asked and f.gone)
               + (select count(*) from availability_change
                   where kind = 'became_unavailable' and recorded_at > clock_timestamp() - interval '5 minutes') as lost,
             count(*) filter (where f.gone) as waiting
        from (select last_good_check_at > clock_timestamp() - interval '5 minutes' or ${isLosing(losing)} as asked,
                     state #>> '{outbound,against}' <> '0'
                       or coalesce(state #>> '{return,against}', '0') <> '0' or ${isLosing(losing)} as gone
                from fare_state
                join fare_schedule using (tracked_fare_id)
               where pair = 'bookable') f
    `,
    tx,
  )
}

function isLosing(losing: readonly number[]): RawBuilder<boolean> {
  return sql`tracked_fare_id = any(${losing}::bigint[])`
}

/**
 * The checks of the last minute or two. While trouble is open as many more of the newest, of a day at most, as it takes
 * to judge that it is over: few are asked then.
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

/** Whether anything is left that could be checked. */
export async function hasTurns(tx: Tx): Promise<boolean> {
  const { some } = await selectOne(
    sql<{ some: boolean }>`select exists (select from fare_schedule) as some`,
    tx,
  )
  return some
}
