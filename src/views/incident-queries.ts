import type { Incident } from '../fares/hold/incident.ts'
import type { HeldKind } from '../platform/base/kinds.ts'
import type { ResellerId } from '../platform/base/reseller-id.ts'
import { type Db, sql } from '../platform/db/database.ts'

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

/** The fares whose change of one kind waits. */
export interface HeldFares {
  readonly kind: HeldKind
  readonly fares: number
  /** When the first and the last of these holds began. */
  readonly since: Date
  readonly latestSince: Date
  /** How many active watches will be notified if all are recorded. */
  readonly watches: number
}

/** What waits, by the kind of the change: of all fares, or of those that a reseller watches, with its own watches. */
export async function readHeld(db: Db, resellerId?: ResellerId): Promise<HeldFares[]> {
  const { rows } = await sql<HeldFares>`
    select coalesce(s.held[1], 'expired') as kind, count(*) as fares, min(s.held_since) as since,
           max(s.held_since) as "latestSince", sum(w.watches)::bigint as watches
      from fare_state s
     cross join lateral (
           select count(*) as watches
             from watch w
             join reseller r on r.id = w.reseller_id and r.disabled_at is null
            where w.tracked_fare_id = s.tracked_fare_id and w.paused_at is null and w.ended_at is null
              and (${resellerId ?? null}::bigint is null or w.reseller_id = ${resellerId ?? null})) w
     where s.held_since is not null and s.expired_at is null and w.watches > 0
     group by 1
     order by 1
  `.execute(db)
  return rows
}
