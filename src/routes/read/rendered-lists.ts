import { createTtlCache, type TtlCache } from '../../platform/base/cache.ts'
import type { Db } from '../../platform/db/database.ts'
import { createEncodedBody, type EncodedBody } from '../../platform/http/responses.ts'
import { routesText } from './export-routes.ts'
import { findListVersion, type ListForm, type ListVersion } from './list-version.ts'

/** A current list, and its text once a request needs it. */
export interface RenderedList {
  readonly version: ListVersion
  /** The whole text; null if it is too large to be cached and must be read for each request. */
  body(): Promise<EncodedBody | null>
}

/** The current lists as text. A process reads each version from the database once. */
export interface RenderedLists {
  /** At most a second old; undefined before the first accepted snapshot. */
  current(form: ListForm): Promise<RenderedList | undefined>
}

export interface RenderedListsDeps {
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
const FORMS = 3
/** Four hundred thousand routes in each of the forms. Caching more would cost each process more than reading them. */
const MAX_BYTES = 64_000_000

export function createRenderedLists(deps: RenderedListsDeps): RenderedLists {
  const { nowMs } = deps
  const versions: TtlCache<CachedVersion | undefined> = createTtlCache({
    ttlMs: TTL_MS,
    nowMs,
    maxKeys: FORMS,
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
