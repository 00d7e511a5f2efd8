import type { ResellerId } from '../../base/reseller-id.ts'
import { type Db, type RawBuilder, sql } from '../../db/database.ts'
import { selectOne } from '../../db/transaction.ts'
import { FRESH_INTERVALS, readFreshSeconds } from '../../watch/staleness.ts'

/** How old is what is believed of fares. Ages are seconds since the last good check began. */
export interface BeliefAges {
  /** Fares that are checked. */
  readonly fares: number
  /** Of those, the ones that were never well answered. */
  readonly unanswered: number
  /** Of those that were, the ones whose belief is too old to be shown as known. */
  readonly stale: number
  /** Null where no fare was ever well answered. */
  readonly ageSeconds: AgePercentiles | null
}

export interface AgePercentiles {
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly max: number
}

interface AgesRow extends Omit<BeliefAges, 'ageSeconds'> {
  readonly ages: readonly [number, number, number, number] | null
}

/**
 * Ages of all fares that are checked; or of those alone that a reseller watches, stale by its own intervals: those of
 * other resellers are secret.
 */
export async function readBeliefAges(
  db: Db,
  { resellerId }: { readonly resellerId?: ResellerId | undefined } = {},
): Promise<BeliefAges> {
  const { ages, ...counts } = await selectOne(
    sql<AgesRow>`
      with asked as materialized (${resellerId === undefined ? allFares : await faresOf(db, resellerId)})
      select count(*) as fares,
             count(*) filter (where b.last_good_check_at is null) as unanswered,
             count(*) filter (where b.last_good_check_at is not null
                                and coalesce(clock_timestamp() - b.last_good_check_at > asked.fresh_for, b.stale)) as stale,
             percentile_disc(array[0.5, 0.9, 0.99, 1])
               within group (order by extract(epoch from clock_timestamp() - b.last_good_check_at)::float8) as ages
        from asked
        join tracked_fare f on f.id = asked.id
        left join farewatch.availability_current b on b.tracked_fare_id = f.id
       where f.ended_at is null and b.expired_at is null
    `,
    db,
  )
  if (ages === null) return { ...counts, ageSeconds: null }
  const [p50, p90, p99, max] = ages
  return { ...counts, ageSeconds: { p50, p90, p99, max } }
}

/** Null: the fare's own rule says whether its belief is stale. */
const allFares = sql`select id, null::interval as fresh_for from tracked_fare`

async function faresOf(db: Db, resellerId: ResellerId): Promise<RawBuilder<unknown>> {
  const seconds = await readFreshSeconds(db)
  return sql`
    select w.tracked_fare_id as id,
           make_interval(secs => greatest(${seconds}::float8,
                                          ${FRESH_INTERVALS}::int * min(coalesce(w.min_interval_seconds, 0)))) as fresh_for
      from watch w
      join reseller r on r.id = w.reseller_id
     where w.reseller_id = ${resellerId} and w.paused_at is null and w.ended_at is null and r.disabled_at is null
     group by w.tracked_fare_id
  `
}

/** The checks of the last whole minute, and those of them that told nothing. */
export async function readLastMinute(db: Db): Promise<{ checks: number; unknown: number }> {
  return selectOne(
    sql<{ checks: number; unknown: number }>`
      select coalesce(sum(checks), 0)::bigint as checks, coalesce(sum(unknown), 0)::bigint as unknown
        from check_minute
       where minute = date_trunc('minute', clock_timestamp()) - interval '1 minute'
    `,
    db,
  )
}
