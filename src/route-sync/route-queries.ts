import { type Db, sql } from '../db/database.ts'

/** A route with both places' attributes, as the public SQL shows it. */
export interface RouteRow {
  readonly departureId: string
  readonly departureIata: string
  readonly departureCity: string
  readonly departureCountry: string
  readonly destinationId: string
  readonly destinationIata: string
  readonly destinationCity: string
  readonly destinationCountry: string
  readonly since: Date
  /** Null until an accepted with-availability list has spoken of it. */
  readonly available: boolean | null
}

export interface RouteFilter {
  /** The instant of time travel; the present where missing. */
  readonly asOf?: Date | undefined
  readonly onlyAvailable?: boolean | undefined
}

const PAGE_ROWS = 5_000

/**
 * Streams routes in the order of their ids, a page at a time, all pages as one instant shows them: the one asked
 * for, else that of the last accepted list. Past instants never change, so no connection is held between pages,
 * however slowly they are taken.
 */
export async function* streamRoutes(db: Db, filter: RouteFilter = {}): AsyncGenerator<RouteRow[]> {
  const instant = filter.asOf ?? (await findLastSettled(db))
  if (instant === null) return
  let after: RouteRow | undefined
  do {
    const page: RouteRow[] = await readPage(db, { instant, ...filter }, after)
    if (page.length > 0) yield page
    after = page.length === PAGE_ROWS ? page.at(-1) : undefined
  } while (after !== undefined)
}

/** The valid time of the last accepted list of either kind; null before the first. */
async function findLastSettled(db: Db): Promise<Date | null> {
  const { rows } = await sql<{ instant: Date | null }>`
    select max(fetched_at) as instant from sync_run where status in ('applied', 'unchanged')
  `.execute(db)
  return rows[0]?.instant ?? null
}

async function readPage(
  db: Db,
  { instant, onlyAvailable }: RouteFilter & { readonly instant: Date },
  after?: RouteRow,
): Promise<RouteRow[]> {
  const { rows } = await sql<RouteRow>`
    select departure_id as "departureId", departure_iata as "departureIata",
           departure_city as "departureCity", departure_country as "departureCountry",
           destination_id as "destinationId", destination_iata as "destinationIata",
           destination_city as "destinationCity", destination_country as "destinationCountry",
           since, available
      from farewatch.routes_as_of(${instant})
     where (${after === undefined} or (departure_id, destination_id) > (${after?.departureId ?? ''}, ${after?.destinationId ?? ''}))
       and (${onlyAvailable !== true} or available)
     order by departure_id, destination_id
     limit ${PAGE_ROWS}
  `.execute(db)
  return rows
}

/** Freshness and size of what we hold, for gauges and status. */
export interface SyncState {
  readonly list: string
  readonly lastSuccessAt: Date | null
  readonly lastAttemptAt: Date | null
  readonly held: number
}

export async function readSyncStates(db: Db): Promise<SyncState[]> {
  const { rows } = await sql<SyncState>`
    select list.name as list,
           (select max(fetched_at) from sync_run where sync_run.list = list.name and status in ('applied', 'unchanged')) as "lastSuccessAt",
           (select max(started_at) from sync_run where sync_run.list = list.name) as "lastAttemptAt",
           (select count(*) from sync_run where sync_run.list = list.name and status = 'held') as held
      from (values ('routes'), ('with-availability')) list (name)
  `.execute(db)
  return rows
}

export async function countRoutes(db: Db): Promise<{ live: number; available: number }> {
  const { rows } = await sql<{ live: number; available: number }>`
    select (select count(*) from route_version where valid_to is null) as live,
           (select count(*) from route_availability_version where valid_to is null and available) as available
  `.execute(db)
  return rows[0] ?? { live: 0, available: 0 }
}
