import type { Scrub } from '../../base/secrets.ts'
import type { Db } from '../../db/database.ts'
import { readRouteList } from '../../upstream/lists/read-route-list.ts'
import type { Route, RouteListBody, RouteListName } from '../../upstream/route-list.ts'
import { type PackedSnapshot, packSnapshot } from './pack-snapshot.ts'
import { hasSnapshot, loadSnapshot } from './snapshots.ts'

/** A list to settle: its bytes may be at hand, or kept. */
export interface FetchedList {
  readonly contentHash: string
  readonly bytes: number
  /** Told what was odd in it once it is read. */
  readonly onRead?: RouteListBody['onRead']
  /** Read in the caller's transaction, if any. Throws SnapshotNotKeptError, SnapshotDamagedError where they were kept. */
  chunks(db: Db): Promise<readonly Uint8Array[]>
  /** Null where it cannot be kept. */
  packed(): Promise<PackedSnapshot | null>
}

/** A list whose bytes are at hand. One that is not kept is compressed from here on, beside what is done with it. */
export async function listOfBody(
  db: Db,
  { chunks, contentHash, bytes, onRead }: Omit<RouteListBody, 'downloadMs' | 'validators'>,
  scrub: Scrub,
): Promise<FetchedList> {
  let packing: Promise<PackedSnapshot | null> | undefined
  const packed = () => {
    packing ??= packSnapshot(chunks, scrub)
    return packing
  }
  // Whoever settles the list meets the error too; a list that is rejected has nobody who asks.
  if (!(await hasSnapshot(db, contentHash))) packed().catch(() => undefined)
  return { contentHash, bytes, onRead, packed, chunks: async () => chunks }
}

/** The list of a run of old. */
export function listOfRun(run: {
  readonly runId: number
  readonly contentHash: string
  readonly bytes: number
}): FetchedList {
  return {
    contentHash: run.contentHash,
    bytes: run.bytes,
    chunks: (db) => loadSnapshot(db, run),
    packed: async () => null,
  }
}

/** Reads a list slice by slice, telling after each how many routes have come. */
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
