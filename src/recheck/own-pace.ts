import { createTtlCache } from '../base/ttl-cache.ts'
import { type Db, sql } from '../db/database.ts'
import { selectOne } from '../db/transaction.ts'
import { PRIORITY_WEIGHT } from '../watch/sync-tracked-fares.ts'
import { changesPerDay } from './policy/rate-model.ts'
import {
  FIRST_RATE,
  FLOOR,
  type PromisedFare,
  type ScheduleSums,
  ticketOf,
  ticketsWithPromises,
} from './policy/ticket.ts'
import { memoryOf, readFares } from './rate-fares.ts'
import { EVENT_VALUE, RATE } from './rate-in-sql.ts'
import { readSharedModel } from './rate-store.ts'

/** How often a fare is checked for a reseller, as far as the reseller's own watches and share explain it. */
export interface OwnPace {
  /** Estimated changes a day at present. */
  readonly changesPerDay: number
  /** The longest time between two checks that is expected: budget that other resellers leave makes it shorter. */
  readonly expectedIntervalSeconds: number
}

/** What a reseller asks for by its own active watches. */
interface OwnQueueRow {
  /** The sum of the tickets without a longest delay. */
  readonly others: number
  readonly bounded: readonly PromisedFare[]
  readonly fares: number
  readonly promised: number
  /** Its part of the shares of all resellers. */
  readonly part: number
}

export interface OwnPaceArgs {
  readonly resellerId: number
  readonly fareId: number
  readonly now: Date
}

export type OwnPaceReader = (db: Db, args: OwnPaceArgs) => Promise<OwnPace | null>

export interface OwnPaceRules {
  readonly requestsPerSecond: number
  readonly minRecheckSeconds: number
  /** A monotonic clock. */
  readonly nowMs: () => number
}

const CACHE_MS = 60_000
const CACHED_RESELLERS = 1_000
/** The sums of a small queue are read in a millisecond or two. */
const SMALL_QUEUE = 1_000

/**
 * Creates a reader of what a reseller may know of the pace of its fares; null for a fare without an active watch of the reseller.
 *
 * Everything is computed from the reseller's own watches and from what the upstream showed of the fare, which all its
 * watchers share. Neither the ticket nor the queue of the fare is read: other resellers' watches raise the one and choose
 * the other. Changes of other fares of the route are left out as well, because others may watch these.
 */
export function createOwnPaceReader(rules: OwnPaceRules): OwnPaceReader {
  const { requestsPerSecond, minRecheckSeconds, nowMs } = rules
  const queues = createTtlCache<ScheduleSums>({
    ttlMs: CACHE_MS,
    maxKeys: CACHED_RESELLERS,
    nowMs,
    isCacheable: ({ fares }) => fares > SMALL_QUEUE,
  })
  return async (db, { resellerId, fareId, now }) => {
    const own = await readOwnWatches(db, { resellerId, fareId })
    const fare = (await readFares(db, [fareId])).get(fareId)
    if (own === undefined || fare === undefined) return null
    const queue = await queues.get(String(resellerId), () =>
      readOwnQueue(db, { resellerId, requestsPerSecond }),
    )
    const memory = memoryOf(fare)
    const at = now.getTime() / 1_000
    const changes = changesPerDay(await readSharedModel(db), memory, { at, route: null })
    const worth = {
      ...own,
      value: memory.values[memory.state ?? 'available'],
      changesPerDay: changes,
    }
    const seconds = queue.tickets / (ticketOf(worth, queue) * queue.requestsPerSecond)
    return {
      changesPerDay: Number(changes.toPrecision(3)),
      expectedIntervalSeconds: Math.ceil(
        Math.max(minRecheckSeconds, own.minIntervalSeconds ?? 0, seconds),
      ),
    }
  }
}

interface OwnWatches {
  /** The sum of the priorities of its watches of the fare. */
  readonly weight: number
  readonly maxDelaySeconds: number | null
  readonly minIntervalSeconds: number | null
}

const IS_ACTIVE = sql`w.paused_at is null and w.ended_at is null`

async function readOwnWatches(
  db: Db,
  { resellerId, fareId }: Omit<OwnPaceArgs, 'now'>,
): Promise<OwnWatches | undefined> {
  const { rows } = await sql<OwnWatches>`
    select sum(${PRIORITY_WEIGHT})::float8 as weight, min(w.max_delay_seconds) as "maxDelaySeconds",
           case when count(w.min_interval_seconds) = count(*) then min(w.min_interval_seconds) end as "minIntervalSeconds"
      from watch w
     where w.reseller_id = ${resellerId} and w.tracked_fare_id = ${fareId} and ${IS_ACTIVE}
    having count(*) > 0
  `.execute(db)
  return rows[0]
}

/** The share counts against those of all resellers, also of those without watches: nothing of their watches follows from it. */
async function readOwnQueue(
  db: Db,
  { resellerId, requestsPerSecond }: { resellerId: number; requestsPerSecond: number },
): Promise<ScheduleSums> {
  const query = sql<OwnQueueRow>`
    with own as materialized (
      select w.tracked_fare_id as id, sum(${PRIORITY_WEIGHT})::float8 as weight, min(w.max_delay_seconds) as max_delay
        from watch w
       where w.reseller_id = ${resellerId} and ${IS_ACTIVE}
       group by w.tracked_fare_id
    ), ticket as materialized (
      select sqrt(o.weight * ${EVENT_VALUE} * coalesce(nullif(${RATE}, 0), ${FIRST_RATE}::float8)) as own, o.max_delay
        from own o
        join fare_schedule q on q.tracked_fare_id = o.id
    )
    select coalesce(sum(own) filter (where max_delay is null), 0)::float8 as others,
           coalesce(json_agg(json_build_object('ticket', own, 'maxDelaySeconds', max_delay))
                      filter (where max_delay is not null), '[]') as bounded,
           count(*) as fares, coalesce(sum(1.0 / max_delay), 0)::float8 as promised,
           (select coalesce(max(r.share) filter (where r.id = ${resellerId}) / sum(r.share), 1)
              from reseller r where r.disabled_at is null)::float8 as part
      from (select greatest(own, ${FLOOR}::float8 * avg(own) over ()) as own, max_delay from ticket) t
  `
  const { others, bounded, part, ...counts } = await selectOne(query, db)
  const sums = { requestsPerSecond: part * requestsPerSecond, promised: counts.promised }
  return { fares: counts.fares, tickets: ticketsWithPromises(others, bounded, sums), ...sums }
}
