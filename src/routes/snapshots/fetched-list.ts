import type { RouteListName } from '../../platform/base/kinds.ts'
import type { Scrub } from '../../platform/base/secrets.ts'
import type { Db } from '../../platform/db/database.ts'
import { readRouteList } from '../../upstream/lists/read-route-list.ts'
import type { Route, RouteListBody } from '../../upstream/route-list.ts'
import type { UpstreamClient } from '../../upstream/upstream-client.ts'
import type { Arrival, Stopwatch } from '../runs/run-records.ts'
import {
  NoRoutesYetError,
  SnapshotDamagedError,
  SnapshotNotKeptError,
} from '../runs/sync-errors.ts'
import { findLastAccepted } from '../runs/sync-run-queries.ts'
import { hasSnapshot, loadSnapshot, type PackedSnapshot, packSnapshot } from './snapshots.ts'

export interface FetchDeps {
  readonly db: Db
  readonly upstream: Pick<UpstreamClient, 'fetchRouteListIfModified'>
  /** Masks our secrets in what the upstream sends. */
  readonly scrub: Scrub
  readonly onProgress?: (progress: SyncProgress) => void
}

/** How far a run is: bytes fetched, then routes staged. */
export interface SyncProgress {
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
