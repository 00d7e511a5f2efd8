import { createHash } from 'node:crypto'
import type { RouteListName } from '../../src/platform/base/kinds.ts'
import type { Scrub } from '../../src/platform/base/secrets.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { GUARD_LIMITS, type GuardLimits } from '../../src/routes/guard.ts'
import type { SyncOutcome } from '../../src/routes/runs.ts'
import { type SyncResult, syncList } from '../../src/routes/sync.ts'
import type { Place, Route } from '../../src/upstream/route-list.ts'
import type { UpstreamClient } from '../../src/upstream/upstream-client.ts'

/** A place whose attributes follow from its id by default. */
export function place(id: string, attributes: Partial<Place> = {}): Place {
  return { id, iata: id, city: `City ${id}`, country: 'Spain', ...attributes }
}

/** 'PMI-MAD' is the route from PMI to MAD. */
export function route(pair: string): Route {
  const [from = '', to = ''] = pair.split('-')
  return { departure: place(from), destination: place(to) }
}

export function routes(...pairs: string[]): Route[] {
  return pairs.map(route)
}

/** `count` routes from one hub. */
export function manyRoutes(count: number, hub = 'HUB'): Route[] {
  return Array.from({ length: count }, (_, i) => route(`${hub}-D${i}`))
}

/** An upstream that answers with these bytes. */
export function upstreamOf(body: string): ListUpstream {
  const bytes = Buffer.from(body)
  return {
    fetchRouteListIfModified: async () => ({
      chunks: [bytes],
      bytes: bytes.length,
      contentHash: createHash('sha256').update(bytes).digest('hex'),
      downloadMs: 0,
      validators: { etag: null, lastModified: null },
    }),
  }
}

/** The part of the upstream client that a sync uses. */
export type ListUpstream = Pick<UpstreamClient, 'fetchRouteListIfModified'>

export interface SyncArgs {
  readonly list?: RouteListName
  readonly confirmations?: number
  readonly guard?: GuardLimits
  readonly scrub?: Scrub
  readonly dueAt?: Date
}

/** A guard that finds only an empty list suspicious. */
export const NO_GUARD: GuardLimits = {
  absentShare: 1,
  leastAbsentShare: 1,
  emptiedDepartures: Number.POSITIVE_INFINITY,
  renumberedPlaces: Number.POSITIVE_INFINITY,
  minimum: Number.POSITIVE_INFINITY,
  removedPerDayShare: 1,
  growthFrom: Number.POSITIVE_INFINITY,
  growthShare: 1,
  placesChangedShare: 1,
  agreementShare: 0,
  releaseLists: Number.POSITIVE_INFINITY,
  releaseHours: 0,
  releaseLostShare: 0,
}

export const noScrub: Scrub = (text) => text

/** Runs one sync of a list of these routes. */
export async function sync(
  db: Db,
  list: readonly Route[],
  args: SyncArgs = {},
): Promise<SyncOutcome> {
  return syncBody(db, JSON.stringify(list), args)
}

export async function syncBody(db: Db, body: string, args: SyncArgs = {}): Promise<SyncOutcome> {
  const deps = {
    db,
    upstream: upstreamOf(body),
    confirmations: args.confirmations ?? 2,
    guard: args.guard ?? GUARD_LIMITS,
    scrub: args.scrub ?? noScrub,
  }
  const request = { list: args.list ?? 'routes', dueAt: args.dueAt } as const
  return outcomeOf(await syncList(deps, request, new AbortController().signal))
}

/** The outcome of a sync that ran. */
export function outcomeOf(result: SyncResult): SyncOutcome {
  if (result.kind !== 'ran') throw new Error(`no run: ${result.kind}`)
  return result.outcome
}

/** Live routes as 'PMI-MAD', in order. */
export async function livePairs(db: Db): Promise<string[]> {
  const { rows } = await sql<{ pair: string }>`
    select departure_id || '-' || destination_id as pair from farewatch.routes_current order by 1
  `.execute(db)
  return rows.map((row) => row.pair)
}

export async function routesAsOf(db: Db, instant: Date): Promise<string[]> {
  const { rows } = await sql<{ pair: string }>`
    select departure_id || '-' || destination_id as pair from farewatch.routes_as_of(${instant}) order by 1
  `.execute(db)
  return rows.map((row) => row.pair)
}

/** The availability of each live route: true, false, or null if unknown. */
export async function availability(db: Db): Promise<Record<string, boolean | null>> {
  const { rows } = await sql<{ pair: string; available: boolean | null }>`
    select departure_id || '-' || destination_id as pair, available from farewatch.routes_current order by 1
  `.execute(db)
  return Object.fromEntries(rows.map((row) => [row.pair, row.available]))
}

export interface ChangeRow {
  readonly seq: number
  readonly kind: string
  readonly of: string
  readonly before: unknown
  readonly after: unknown
  readonly lastSeenAt: Date
  readonly firstMissedAt: Date
  readonly runId: number
}

export async function changes(db: Db): Promise<ChangeRow[]> {
  const { rows } = await sql<ChangeRow>`
    select seq, kind, coalesce(place_id, departure_id || '-' || destination_id) as of, attributes_before as before, attributes as after,
           last_seen_at as "lastSeenAt", first_missed_at as "firstMissedAt", sync_run_id as "runId"
      from farewatch.route_changes
     order by seq
  `.execute(db)
  return rows
}

export async function intervals(db: Db, pair: string): Promise<{ from: Date; to: Date | null }[]> {
  const [departure = '', destination = ''] = pair.split('-')
  const { rows } = await sql<{ from: Date; to: Date | null }>`
    select valid_from as from, valid_to as to
      from farewatch.route_history
     where departure_id = ${departure} and destination_id = ${destination}
     order by valid_from
  `.execute(db)
  return rows
}

export async function fetchedAt(db: Db, runId: number): Promise<Date> {
  const { rows } = await sql<{ at: Date }>`
    select valid_at as at from farewatch.sync_runs where sync_run_id = ${runId}
  `.execute(db)
  if (rows[0] === undefined) throw new Error(`run ${runId} is not there`)
  return rows[0].at
}

export async function arrivedAt(db: Db, runId: number): Promise<Date> {
  const { rows } = await sql<{ at: Date }>`
    select arrived_at as at from farewatch.sync_runs where sync_run_id = ${runId}
  `.execute(db)
  if (rows[0] === undefined) throw new Error(`run ${runId} is not there`)
  return rows[0].at
}
