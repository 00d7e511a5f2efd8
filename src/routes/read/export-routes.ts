import { stringify } from 'csv-stringify/sync'
import { createTtlCache, type TtlCache } from '../../platform/base/cache.ts'
import type { RouteListName } from '../../platform/base/kinds.ts'
import { type Db, sql } from '../../platform/db/database.ts'
import { createEncodedBody, type EncodedBody } from '../../platform/http/responses.ts'
import { ACCEPTED, ARRIVED_AT } from '../runs.ts'
import { type RouteFilter, type RouteRow, streamRoutes } from './route-queries.ts'

/** The columns of an export, in the order of `farewatch.routes_current`, which calls `since` valid_from. */
const COLUMNS: readonly (readonly [keyof RouteRow, string])[] = [
  ['departureId', 'departure_id'],
  ['departureIata', 'departure_iata'],
  ['departureCity', 'departure_city'],
  ['departureCountry', 'departure_country'],
  ['destinationId', 'destination_id'],
  ['destinationIata', 'destination_iata'],
  ['destinationCity', 'destination_city'],
  ['destinationCountry', 'destination_country'],
  ['since', 'since'],
  ['available', 'available'],
]

type Pages = AsyncIterable<readonly RouteRow[]>

/**
 * Writes one of the forms that the API serves, a page at a time, in the order of their ids: CSV with a header, or one JSON
 * array.
 *
 * The next page is queried when the last one was taken, so a consumer that stops leaves nothing open. Times are ISO
 * 8601 in UTC; an unknown availability is empty.
 */
export function routesText(
  db: Db,
  form: ListForm,
  filter: RouteFilter = {},
): AsyncGenerator<string> {
  if (form === 'csv') return csvText(streamRoutes(db, filter))
  return jsonArray(streamRoutes(db, { ...filter, onlyAvailable: form === 'with-availability' }))
}

/** Pages of CSV lines. A cell that starts like a formula gets a leading apostrophe: a spreadsheet would run it. */
export async function* csvText(pages: Pages): AsyncGenerator<string> {
  yield stringify([COLUMNS.map(([, column]) => column)])
  for await (const page of pages) {
    const rows = page.map((row) => COLUMNS.map(([field]) => cellOf(row[field])))
    yield stringify(rows, { escape_formulas: true })
  }
}

function cellOf(value: RouteRow[keyof RouteRow]): string {
  if (value instanceof Date) return value.toISOString()
  return value === null ? '' : String(value)
}

/** One JSON array, with one element a line. */
async function* jsonArray(pages: Pages): AsyncGenerator<string> {
  let separator = '[\n'
  for await (const page of pages) {
    yield separator + page.map((row) => JSON.stringify(upstreamShape(row))).join(',\n')
    separator = ',\n'
  }
  yield separator === '[\n' ? '[]\n' : '\n]\n'
}

/** The shape that the upstream's interface gives a route. */
function upstreamShape(row: RouteRow): object {
  return {
    departure: {
      id: row.departureId,
      iata: row.departureIata,
      city: row.departureCity,
      country: row.departureCountry,
    },
    destination: {
      id: row.destinationId,
      iata: row.destinationIata,
      city: row.destinationCity,
      country: row.destinationCountry,
    },
  }
}

/** The forms in which the API serves the routes. */
export type ListForm = RouteListName | 'csv'

/** The state of a list that is served. */
export interface ListVersion {
  /** Differs whenever the list differs; the same in every process. */
  readonly tag: string
  /** The valid time of the last run that changed the list; the list is read as of this instant. */
  readonly changedAt: Date
  /** The same, in seconds; undefined if another change came within that second: an HTTP date has whole seconds. */
  readonly lastModified: Date | undefined
  /** When the last accepted snapshot arrived. It may have changed nothing, and may have been approved later. */
  readonly snapshotAt: Date
  /** Its age when it was read, by the database's clock. */
  readonly snapshotAgeMs: number
}

interface FormRuns {
  /** The list whose snapshots the form shows. */
  readonly snapshots: RouteListName
  /** The lists whose runs may change the form. */
  readonly changedBy: readonly RouteListName[]
  /** The SQL condition for the runs of these lists that change the form. */
  readonly changes: typeof CHANGED
}

const CHANGED = sql`(
  baseline or coalesce(added, 0) + coalesce(removed, 0) + coalesce(places_changed, 0)
              + coalesce(gained, 0) + coalesce(lost, 0) > 0
)`

/**
 * The first with-availability run whose list arrived after routes were added. The CSV shows availability, and such
 * a run turns unknown into unavailable, which its counts do not show. A list that arrived before the routes were
 * added says nothing about them, even if it was accepted after.
 */
const FIRST_AFTER_ADDITIONS = sql`(
  list = 'with-availability' and exists (
    select from sync_run added
     where added.list = 'routes' and added.status in ${ACCEPTED}
       and (added.baseline or added.added > 0)
       and added.fetched_at < sync_run.fetched_at
       and added.fetched_at > coalesce((select max(${ARRIVED_AT}) from sync_run earlier
                                         where earlier.list = 'with-availability' and earlier.status in ${ACCEPTED}
                                           and earlier.fetched_at < sync_run.fetched_at), '-infinity'))
)`

const FORMS: Readonly<Record<ListForm, FormRuns>> = {
  routes: { snapshots: 'routes', changedBy: ['routes'], changes: CHANGED },
  'with-availability': {
    snapshots: 'with-availability',
    changedBy: ['routes', 'with-availability'],
    changes: CHANGED,
  },
  csv: {
    snapshots: 'routes',
    changedBy: ['routes', 'with-availability'],
    changes: sql`(${CHANGED} or ${FIRST_AFTER_ADDITIONS})`,
  },
}

/** Increase it whenever the same routes are written as another text. */
const TEXT_VERSION = 1

/** The version of a form as of an instant, or now; undefined before the first accepted snapshot. Reads runs alone. */
export async function findListVersion(
  db: Db,
  form: ListForm,
  asOf?: Date,
): Promise<ListVersion | undefined> {
  const { snapshots, changedBy, changes } = FORMS[form]
  const until = sql`${asOf ?? 'infinity'}::timestamptz`
  const { rows } = await sql<VersionRow>`
    select changed.id as "runId", changed.fetched_at as "changedAt", taken.arrived_at as "snapshotAt",
           (extract(epoch from clock_timestamp() - taken.arrived_at) * 1000)::float8 as "snapshotAgeMs"
      from unnest(${changedBy}::text[]) of_list (name)
     cross join lateral (select id, fetched_at from sync_run
                          where list = of_list.name and status in ${ACCEPTED} and fetched_at <= ${until} and ${changes}
                          order by fetched_at desc
                          limit 2) changed
     cross join (select ${ARRIVED_AT} as arrived_at from sync_run
                  where list = ${snapshots} and status in ${ACCEPTED} and fetched_at <= ${until}
                  order by fetched_at desc
                  limit 1) taken
     order by changed.fetched_at desc
     limit 2
  `.execute(db)
  const [row, before] = rows
  if (row === undefined) return undefined
  const { runId, ...version } = row
  const { changedAt } = version
  // The time is part of the tag because runs of a recreated database are numbered from 1 again.
  const time = changedAt.getTime().toString(36)
  const alone = before === undefined || secondOf(before.changedAt) < secondOf(changedAt)
  return {
    ...version,
    tag: `${form}-${TEXT_VERSION}-${runId}-${time}`,
    lastModified: alone ? changedAt : undefined,
  }
}

interface VersionRow extends Omit<ListVersion, 'tag' | 'lastModified'> {
  readonly runId: number
}

function secondOf(instant: Date): number {
  return Math.floor(instant.getTime() / 1000)
}

/** A current list, and its text once a request needs it. */
interface RenderedList {
  readonly version: ListVersion
  /** The whole text; null if it is too large to be cached and must be read for each request. */
  body(): Promise<EncodedBody | null>
}

/** The current lists as text. A process reads each version from the database once. */
export interface RenderedLists {
  /** At most a second old; undefined before the first accepted snapshot. */
  current(form: ListForm): Promise<RenderedList | undefined>
}

interface RenderedListsDeps {
  readonly db: Db
  /** A monotonic clock. */
  readonly nowMs: () => number
  /** Larger texts are not cached. */
  readonly maxBytes?: number
}

interface CachedVersion extends ListVersion {
  readonly readAtMs: number
}

/** Below a second by the time of the query and the response, so that an answer is at most a second old. */
const TTL_MS = 900
/** Four hundred thousand routes in each of the forms. Caching more would cost each process more than reading them. */
const MAX_BYTES = 64_000_000

export function createRenderedLists(deps: RenderedListsDeps): RenderedLists {
  const { nowMs } = deps
  const versions: TtlCache<CachedVersion | undefined> = createTtlCache({
    ttlMs: TTL_MS,
    nowMs,
    maxKeys: Object.keys(FORMS).length,
  })
  const lists = new Map<ListForm, RenderedList>()
  return {
    current: async (form) => {
      const cached = await versions.get(form, () => readVersion(deps, form))
      if (cached === undefined) return undefined
      const version = withAge(nowMs(), cached)
      const known = lists.get(form)
      if (known?.version.tag === version.tag) return { ...known, version }
      // A concurrent request may have read a newer version already.
      if (known !== undefined && known.version.changedAt > version.changedAt) return known
      const list = { version, body: once(() => render(deps, form, version)) }
      lists.set(form, list)
      return list
    },
  }
}

async function readVersion({ db, nowMs }: RenderedListsDeps, form: ListForm) {
  const readAtMs = nowMs()
  const version = await findListVersion(db, form)
  return version === undefined ? undefined : { ...version, readAtMs }
}

function withAge(nowMs: number, { readAtMs, ...version }: CachedVersion): ListVersion {
  return { ...version, snapshotAgeMs: version.snapshotAgeMs + nowMs - readAtMs }
}

/** Reads the list as of the instant of its version, whatever is applied in the meantime. */
async function render(
  { db, maxBytes = MAX_BYTES }: RenderedListsDeps,
  form: ListForm,
  { changedAt }: ListVersion,
): Promise<EncodedBody | null> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const text of routesText(db, form, { asOf: changedAt })) {
    const part = Buffer.from(text)
    bytes += part.length
    if (bytes > maxBytes) return null
    parts.push(part)
  }
  return createEncodedBody(Buffer.concat(parts))
}

/** Runs `work` at the first call and shares its result with all later ones; a failure is not shared. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined
  return () => {
    running ??= work().catch((err: unknown) => {
      running = undefined
      throw err
    })
    return running
  }
}
