import type { Scrub } from '../../platform/base/secrets.ts'
import { type RawBuilder, sql, type Tx } from '../../platform/db/database.ts'
import type { Place, Route } from '../../upstream/route-list.ts'
import { SecretInListError } from '../runs/sync-errors.ts'

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

export type StagingPrefix = 'staged' | 'compared' | 'first' | 'second'

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
