import type { RouteListName } from '../platform/base/kinds.ts'
import type { Scrub } from '../platform/base/secrets.ts'
import { type Db, type RawBuilder, sql, type Tx } from '../platform/db/database.ts'
import { readRouteList } from '../upstream/lists/read-route-list.ts'
import type { Place, Route, RouteListBody } from '../upstream/route-list.ts'
import type { UpstreamClient } from '../upstream/upstream-client.ts'
import {
  NoRoutesYetError,
  SecretInListError,
  SnapshotDamagedError,
  SnapshotNotKeptError,
} from './errors.ts'
import { type Arrival, findLastAccepted, type Stopwatch } from './runs.ts'
import { hasSnapshot, loadSnapshot, type PackedSnapshot, packSnapshot } from './snapshots.ts'

export interface FetchDeps {
  readonly db: Db
  readonly upstream: Pick<UpstreamClient, 'fetchRouteListIfModified'>
  /** Masks our secrets in what the upstream sends. */
  readonly scrub: Scrub
  readonly onProgress?: (progress: SyncProgress) => void
}

/** How far a run is: bytes fetched, then routes staged. */
interface SyncProgress {
  readonly bytes: number
  readonly routes: number
}

/** A list to stage: its bytes are in memory, or kept in the database. */
export interface FetchedList {
  readonly contentHash: string
  readonly bytes: number
  /** Called with the anomalies of the list once it is read. */
  readonly onRead?: RouteListBody['onRead']
  /** Kept bytes are read once. Throws SnapshotNotKeptError, SnapshotDamagedError. */
  chunks(db: Db): Promise<readonly Uint8Array[]>
  /** Null if the list cannot be kept, or is kept already. */
  packed(): Promise<PackedSnapshot | null>
}

/**
 * Fetches a list, or learns that the last accepted one is not modified. The condition is sent only while that list is
 * kept, because it may have to be read again. Throws NoRoutesYetError.
 */
export async function fetchList(
  { db, upstream, scrub, onProgress }: FetchDeps,
  { list, stopwatch }: { readonly list: RouteListName; readonly stopwatch: Stopwatch },
  signal: AbortSignal,
): Promise<{ readonly arrival: Arrival; readonly fetched: FetchedList }> {
  if (list === 'with-availability' && (await findLastAccepted(db, 'routes')) === null) {
    throw new NoRoutesYetError()
  }
  const previous = await findLastAccepted(db, list)
  const isKept = previous !== null && (await hasSnapshot(db, previous.contentHash))
  const validators = isKept ? previous : { etag: null, lastModified: null }
  const body = await stopwatch.time('fetch', () =>
    upstream.fetchRouteListIfModified(list, {
      signal,
      validators,
      onProgress: (bytes) => onProgress?.({ bytes, routes: 0 }),
    }),
  )
  if (body !== null) {
    return { arrival: { ...body, notModified: false }, fetched: await listOfBody(db, body, scrub) }
  }
  if (previous === null) throw new Error('the upstream answered 304 to an unconditional request')
  return {
    arrival: { ...previous, validators: previous, notModified: true },
    fetched: listOfRun({ ...previous, runId: previous.id }),
  }
}

/** A list whose bytes are in memory. It is compressed from now on, while the caller stages it, unless it is kept. */
async function listOfBody(
  db: Db,
  { chunks, contentHash, bytes, onRead }: RouteListBody,
  scrub: Scrub,
): Promise<FetchedList> {
  let packing: Promise<PackedSnapshot | null> | undefined
  const packed = () => {
    packing ??= packSnapshot(chunks, scrub)
    return packing
  }
  // A later call of `packed` throws the error. There is none if the list is rejected.
  if (!(await hasSnapshot(db, contentHash))) packed().catch(() => undefined)
  return { contentHash, bytes, onRead, packed, chunks: async () => chunks }
}

/** The kept list of an earlier run. Throws SnapshotNotKeptError if the run got no list. */
export function listOfRun(run: {
  readonly runId: number
  readonly contentHash: string | null
  readonly bytes: number | null
}): FetchedList {
  const { runId, contentHash, bytes } = run
  if (contentHash === null || bytes === null) throw new SnapshotNotKeptError(runId)
  let loading: Promise<readonly Uint8Array[]> | undefined
  const chunks = (db: Db) => {
    loading ??= loadSnapshot(db, run)
    return loading
  }
  return { contentHash, bytes, chunks, packed: async () => null }
}

/** Whether the list is kept, and its bytes are the fetched ones. */
export async function isReadable(db: Db, list: FetchedList): Promise<boolean> {
  try {
    await list.chunks(db)
    return true
  } catch (err) {
    if (err instanceof SnapshotNotKeptError || err instanceof SnapshotDamagedError) return false
    throw err
  }
}

/** Reads a list slice by slice; reports after each how many routes have been read. */
export async function* readSlices(
  db: Db,
  { list, fetched }: { readonly list: RouteListName; readonly fetched: FetchedList },
  onRoutes?: (routes: number) => void,
): AsyncGenerator<{ readonly routes: readonly Route[] }> {
  let routes = 0
  const body = { chunks: await fetched.chunks(db), onRead: fetched.onRead }
  for await (const slice of readRouteList(body, { endpoint: list })) {
    yield slice
    routes += slice.routes.length
    onRoutes?.(routes)
  }
}

const PLACES_PER_STATEMENT = 10_000

/** Counts of the staged list. */
export interface StagedSnapshot {
  /** Routes in the list, duplicates included. */
  readonly fetched: number
  readonly duplicates: number
  readonly conflictingPlaces: number
}

/**
 * Stages a list in temporary tables: `staged_route` (two ids a row, each pair once) and `staged_place` (each distinct
 * set of attributes of a place once). Another prefix stages a second list in the same transaction. The tables vanish
 * with the transaction.
 *
 * Duplicates are dropped here, by numbers that stand for ids: a set of a million numbers takes 40 MB of memory, where a
 * unique index would write every row twice.
 */
export async function stageSnapshot(
  tx: Tx,
  scrub: Scrub,
  slices: AsyncIterable<{ readonly routes: readonly Route[] }>,
  prefix: StagingPrefix = 'staged',
): Promise<StagedSnapshot> {
  const tables = await createStagingTables(tx, prefix)
  const places = new PlaceRegister()
  const pairs = new Set<number>()
  let fetched = 0
  const storing = pipelined((routes: readonly NamedRoute[]) =>
    insertStagedRoutes(tx, tables, routes),
  )
  try {
    for await (const { routes } of slices) {
      fetched += routes.length
      await storing.next(newRoutes(routes, { places, pairs }))
    }
  } finally {
    await storing.end()
  }
  await insertStagedPlaces(tx, tables, { places: places.spellings(), scrub })
  await sql`analyze ${tables.routes}, ${tables.places}`.execute(tx)
  return {
    fetched,
    duplicates: fetched - pairs.size,
    conflictingPlaces: places.conflicting,
  }
}

type StagingPrefix = 'staged' | 'compared' | 'first' | 'second'

interface StagingTables {
  readonly routes: RawBuilder<unknown>
  readonly places: RawBuilder<unknown>
}

/** Creates the tables of a list, which `stageSnapshot` fills. */
export async function createStagingTables(tx: Tx, prefix: StagingPrefix): Promise<StagingTables> {
  const tables = { routes: sql.table(`${prefix}_route`), places: sql.table(`${prefix}_place`) }
  const { routes, places } = tables
  await sql`
    create temp table ${routes} (departure_id text not null, destination_id text not null)
    on commit drop
  `.execute(tx)
  // Without it Postgres underestimates the number of distinct pairs, and sorts a million rows.
  await sql`create statistics (ndistinct) on departure_id, destination_id from ${routes}`.execute(
    tx,
  )
  await sql`
    create temp table ${places} (place_id text not null, iata text not null, city text not null, country text not null)
    on commit drop
  `.execute(tx)
  return tables
}

/** Runs one action at a time, each while the caller prepares the next: the database stores while we read. */
function pipelined<T>(act: (item: T) => Promise<void>) {
  let acting: Promise<void> = Promise.resolve()
  return {
    /** Resolves once the previous action is done; rejects if it failed. */
    next: async (item: T) => {
      await acting
      acting = act(item)
      // The next call, or `end`, throws the error.
      acting.catch(() => undefined)
    },
    end: () => acting,
  }
}

/** A route that appears for the first time in its list. */
interface NamedRoute {
  readonly departure: PlaceEntry
  readonly destination: PlaceEntry
}

function newRoutes(
  routes: readonly Route[],
  { places, pairs }: { readonly places: PlaceRegister; readonly pairs: Set<number> },
): NamedRoute[] {
  const fresh: NamedRoute[] = []
  for (const route of routes) {
    const departure = places.entryOf(route.departure)
    const destination = places.entryOf(route.destination)
    const known = pairs.size
    if (pairs.add(pairOf(departure.number, destination.number)).size === known) continue
    fresh.push({ departure, destination })
  }
  return fresh
}

/**
 * Combines two numbers into one by Szudzik's pairing function. For the few places of a list the results are small
 * integers, which V8 stores without an object each: a third of the time of `a * 2 ** 26 + b`.
 * @example pairOf(2, 1) // 7
 */
function pairOf(a: number, b: number): number {
  return a >= b ? a * a + a + b : b * b + a
}

/** Sends the arrays as Postgres' array text: the driver would quote each id of each row, a third of the total time. */
async function insertStagedRoutes(
  tx: Tx,
  tables: StagingTables,
  routes: readonly NamedRoute[],
): Promise<void> {
  if (routes.length === 0) return
  await sql`
    insert into ${tables.routes}
    select * from unnest(${`{${routes.map((r) => r.departure.quotedId).join()}}`}::text[],
                         ${`{${routes.map((r) => r.destination.quotedId).join()}}`}::text[])
  `.execute(tx)
}

async function insertStagedPlaces(
  tx: Tx,
  tables: StagingTables,
  { places, scrub }: { readonly places: readonly Place[]; readonly scrub: Scrub },
): Promise<void> {
  for (let from = 0; from < places.length; from += PLACES_PER_STATEMENT) {
    const batch = places.slice(from, from + PLACES_PER_STATEMENT)
    const some = batch.map((place) => scrubbed(place, scrub))
    await sql`
      insert into ${tables.places}
      select * from unnest(${some.map((p) => p.id)}::text[], ${some.map((p) => p.iata)}::text[],
                           ${some.map((p) => p.city)}::text[], ${some.map((p) => p.country)}::text[])
    `.execute(tx)
  }
}

/**
 * Masks our credential in the attributes of a place, so that it is neither kept nor served. An id cannot be masked,
 * because it would become the id of another place: such a list is rejected.
 */
function scrubbed(place: Place, scrub: Scrub): Place {
  if (scrub(place.id) !== place.id) throw new SecretInListError()
  return {
    id: place.id,
    iata: scrub(place.iata),
    city: scrub(place.city),
    country: scrub(place.country),
  }
}

interface PlaceEntry {
  readonly number: number
  /** The id as an element of Postgres' array text. */
  readonly quotedId: string
  readonly spellings: Place[]
}

/** Numbers the places of one list, and keeps every distinct set of their attributes. */
class PlaceRegister {
  readonly #byId = new Map<string, PlaceEntry>()
  conflicting = 0

  entryOf(place: Place): PlaceEntry {
    const known = this.#byId.get(place.id)
    if (known === undefined) {
      const quotedId = `"${place.id.replace(/["\\]/g, '\\$&')}"`
      const entry = { number: this.#byId.size, quotedId, spellings: [place] }
      this.#byId.set(place.id, entry)
      return entry
    }
    if (!known.spellings.some((spelling) => sameAttributes(spelling, place))) {
      if (known.spellings.length === 1) this.conflicting += 1
      known.spellings.push(place)
    }
    return known
  }

  spellings(): Place[] {
    return [...this.#byId.values()].flatMap((entry) => entry.spellings)
  }
}

function sameAttributes(a: Place, b: Place): boolean {
  return a.iata === b.iata && a.city === b.city && a.country === b.country
}
