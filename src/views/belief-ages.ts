import type { ResellerId } from '../platform/base/reseller-id.ts'
import { type Db, type RawBuilder, sql } from '../platform/db/database.ts'
import { selectOne } from '../platform/db/transaction.ts'
import { OWN_SECONDS, QUEUES } from '../schedule/queues.ts'
import { countOf, presentOf, SAMPLE } from './fare-sample.ts'

/** How old the last good checks are, and which fares have none that can be shown. */
interface BeliefAges {
  readonly fares: number
  readonly unanswered: number
  readonly stale: number
  readonly silent: number
  readonly silentReason: string | null
  readonly ageSeconds: {
    readonly p50: number
    readonly p90: number
    readonly p99: number
    readonly max: number
  } | null
}

interface AgesRow extends Omit<BeliefAges, 'ageSeconds'> {
  readonly ages: readonly [number, number, number, number] | null
}

/**
 * Reads the ages of all fares that are checked, of many by a sample, or of the fares that a reseller watches. What the
 * reseller itself spends on a fare decides whether it is stale: that shows nothing of the others.
 */
export async function readBeliefAges(
  db: Db,
  { resellerId }: { readonly resellerId?: ResellerId | undefined } = {},
): Promise<BeliefAges> {
  const scale = resellerId && sql`1`
  const counted = (condition?: RawBuilder<unknown>) => countOf(condition, scale)
  const { ages, ...counts } = await selectOne(
    sql<AgesRow>`
      with checked as materialized (${resellerId === undefined ? ALL_FARES : faresOf(resellerId)})
      select ${counted()} as fares,
             ${counted(sql`b.last_good_check_at is null`)} as unanswered,
             ${counted(sql`
               b.last_good_check_at is not null
               and coalesce(clock_timestamp() - b.last_good_check_at > checked.fresh_for, b.stale)
             `)} as stale,
             ${counted(IS_SILENT)} as silent,
             mode() within group (order by b.last_reason) filter (where ${IS_SILENT}) as "silentReason",
             percentile_disc(array[0.5, 0.9, 0.99, 1])
               within group (order by extract(epoch from clock_timestamp() - b.last_good_check_at)::float8) as ages
        from checked
        left join ${presentOf(sql`checked.id`)} b on true
       where b.last_watch_ended_at is null and b.expired_at is null
    `,
    db,
  )
  if (ages === null) return { ...counts, ageSeconds: null }
  const [p50, p90, p99, max] = ages
  return { ...counts, ageSeconds: { p50, p90, p99, max } }
}

const IS_SILENT = sql`b.hidden_reason = 'unanswered' and b.last_good_check_at is not null`

/** Without `fresh_for` the public SQL decides whether a belief is stale. */
const ALL_FARES = sql`select q.tracked_fare_id as id, null::interval as fresh_for from ${SAMPLE}`

function faresOf(resellerId: ResellerId): RawBuilder<unknown> {
  return sql`
    select f.id, fresh_for(coalesce(case when t.score > 0 then 1 / ${OWN_SECONDS} end, q.rate)) as fresh_for
      from (select distinct w.tracked_fare_id as id
              from watch w
              join reseller r on r.id = w.reseller_id
             where w.reseller_id = ${resellerId} and w.paused_at is null and w.ended_at is null and r.disabled_at is null) own
      join tracked_fare f using (id)
      left join fare_schedule q on q.tracked_fare_id = f.id
      left join turn t on t.tracked_fare_id = f.id and t.reseller_id = ${resellerId}
      left join (${QUEUES}) p on p.reseller_id = t.reseller_id
  `
}

/**
 * Keeps the present ages of all fares for the lines of the status, at most once a minute, and deletes those of two days
 * ago. Without a fare that had a good check there is nothing to keep.
 */
export async function recordBeliefAges(db: Db): Promise<void> {
  const { fares, stale, ageSeconds } = await readBeliefAges(db)
  if (ageSeconds === null) return
  await sql`
    with old as (delete from belief_minute where minute < clock_timestamp() - interval '2 days')
    insert into belief_minute (minute, fares, stale, p50_seconds, p90_seconds)
    values (date_trunc('minute', clock_timestamp()), ${fares}, ${stale}, ${ageSeconds.p50}, ${ageSeconds.p90})
    on conflict do nothing
  `.execute(db)
}
