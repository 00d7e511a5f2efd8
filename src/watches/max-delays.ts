import { AppError } from '../platform/base/errors.ts'
import type { ResellerId } from '../platform/base/reseller-id.ts'
import { type Db, type RawBuilder, sql } from '../platform/db/database.ts'
import { selectOne } from '../platform/db/transaction.ts'
import { MOST_PROMISED } from '../schedule/queues.ts'

/** What the longest delays of a reseller need. */
interface MaxDelayNeed {
  /** How many fares have each delay, the shortest first; none is below the minimum interval of the workers. */
  readonly groups: readonly { readonly seconds: number; readonly fares: number }[]
  /** The checks a second that they need: Σ fares / seconds. */
  readonly neededPerSecond: number
}

/**
 * The active watches of a reseller: what a column `fare` names, and `seconds`, null where a watch has no longest
 * delay.
 */
export function activeWatchesOf(resellerId: number): RawBuilder<unknown> {
  return sql`
    select w.id, w.tracked_fare_id as fare, w.max_delay_seconds as seconds
      from watch w
     where w.reseller_id = ${resellerId} and w.paused_at is null and w.ended_at is null
  `
}

/**
 * Sums up what watches need. Of several watches of a fare the shortest delay counts. A delay below the shortest
 * interval of the workers needs no more than that interval, because no fare is checked sooner.
 */
export async function readMaxDelayNeed(
  db: Db,
  watches: RawBuilder<unknown>,
): Promise<MaxDelayNeed> {
  const { rows: groups } = await sql<MaxDelayNeed['groups'][number]>`
    select greatest(f.seconds, c.min_recheck_seconds) as seconds, count(*) as fares
      from (select min(seconds) as seconds from (${watches}) w where seconds is not null group by fare) f
     cross join schedule_facts c
     group by 1
     order by 1
  `.execute(db)
  return { groups, neededPerSecond: groups.reduce((sum, g) => sum + g.fares / g.seconds, 0) }
}

/**
 * Refuses a change by which the longest delays of a reseller need more checks than before, and more than its own
 * share of the budget allows, whatever the others leave unused. What was accepted stays. Throws
 * MaxDelayRefusedError.
 */
export async function assertMaxDelays(
  db: Db,
  resellerId: number,
  { before, after }: { readonly before: MaxDelayNeed; readonly after: MaxDelayNeed },
): Promise<void> {
  if (after.neededPerSecond <= before.neededPerSecond * (1 + 1e-9)) return
  // The checks a second of the reseller's own share; null if no worker has run yet.
  const { requestsPerSecond } = await selectOne(
    sql<{ requestsPerSecond: number | null }>`
      select c.requests_per_second * r.share / (select sum(share) from reseller where disabled_at is null and id > 0) as "requestsPerSecond"
        from reseller r
       cross join schedule_facts c
       where r.id = ${resellerId}
    `,
    db,
  )
  if (requestsPerSecond === null) {
    throw new MaxDelayRefusedError(
      'whether it can be kept is not known before a worker has run on this database',
    )
  }
  const allowed = MOST_PROMISED * requestsPerSecond
  if (after.neededPerSecond > allowed) throw new MaxDelayRefusedError(refusalOf(after, allowed))
}

const SHOWN_GROUPS = 3

/** @example '500 fares / 60 s = 8.33 checks a second, but 7 are allowed: 0.7 of the 10 checks a second of your share' */
function refusalOf({ groups, neededPerSecond }: MaxDelayNeed, allowed: number): string {
  const shown = groups
    .slice(0, SHOWN_GROUPS)
    .map(({ fares, seconds }) => `${fares} ${fares === 1 ? 'fare' : 'fares'} / ${seconds} s`)
  const sum = [...shown, ...(groups.length > SHOWN_GROUPS ? ['…'] : [])].join(' + ')
  const rate = (value: number) => String(Number(value.toPrecision(3)))
  return (
    `${sum} = ${rate(neededPerSecond)} checks a second, but ${rate(allowed)} are allowed: ` +
    `${MOST_PROMISED} of the ${rate(allowed / MOST_PROMISED)} checks a second of your share`
  )
}

/**
 * A reseller whose longest delays need more than its share allows now, or are below the minimum interval of the
 * workers.
 */
export interface UnkeptMaxDelays {
  readonly reseller: string
  readonly fares: number
  /** How many of the fares have a delay below the minimum interval of the workers. */
  readonly tooShort: number
  readonly neededPerSecond: number
  readonly allowedPerSecond: number
}

/**
 * Finds resellers whose longest delays are not kept: all, or one of them. The delays were accepted, but the share,
 * the budget or the minimum interval of the workers has changed since, or ended watches have begun again.
 */
export async function findUnkeptMaxDelays(
  db: Db,
  { resellerId = null }: { readonly resellerId?: ResellerId | undefined | null } = {},
): Promise<UnkeptMaxDelays[]> {
  const { rows } = await sql<UnkeptMaxDelays>`
    with bound as (
      select w.reseller_id, min(w.max_delay_seconds) as seconds
        from watch w
       where w.max_delay_seconds is not null and w.paused_at is null and w.ended_at is null
         and (${resellerId}::bigint is null or w.reseller_id = ${resellerId})
       group by w.reseller_id, w.tracked_fare_id
    )
    select r.name as reseller, n.fares, n.short as "tooShort", n.needed as "neededPerSecond", a.allowed as "allowedPerSecond"
      from (select b.reseller_id, count(*) as fares, count(*) filter (where b.seconds < c.min_recheck_seconds) as short,
                   sum(1.0::float8 / greatest(b.seconds, c.min_recheck_seconds)) as needed
              from bound b
             cross join schedule_facts c
             group by b.reseller_id) n
      join reseller r on r.id = n.reseller_id and r.disabled_at is null
     cross join schedule_facts c
     cross join lateral (
           select ${MOST_PROMISED}::float8 * c.requests_per_second * r.share
                    / (select sum(share) from reseller where disabled_at is null and id > 0) as allowed) a
     where n.needed > a.allowed * (1 + 1e-9) or n.short > 0
     order by n.needed / a.allowed desc
     limit 10
  `.execute(db)
  return rows
}

/** The longest delays of a reseller need more checks than its share of the budget allows. Nothing was changed. */
class MaxDelayRefusedError extends AppError {
  override readonly name = 'MaxDelayRefusedError'
  override readonly code = 'quota.max_delays'

  constructor(why: string) {
    super(`max_delay_seconds: ${why}; nothing was changed`)
  }
}
