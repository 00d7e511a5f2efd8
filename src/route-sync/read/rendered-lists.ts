import { createTtlCache, type TtlCache } from '../../base/ttl-cache.ts'
import type { Db } from '../../db/database.ts'
import { createEncodedBody, type EncodedBody } from '../../http/encoded-body.ts'
import { findListVersion, type ListForm, type ListVersion } from './list-version.ts'
import { routesText } from './route-texts.ts'

/** A list as it stands, and its text once somebody wants that. */
export interface RenderedList {
  readonly version: ListVersion
  /** The whole text; null where it is too large to be kept, and must be read each time. */
  body(): Promise<EncodedBody | null>
}

/** The lists of now, rendered: each version is read from the database once a process, however many ask for it. */
export interface RenderedLists {
  /** At most a second old; undefined before the first accepted snapshot. */
  current(form: ListForm): Promise<RenderedList | undefined>
}

export interface RenderedListsDeps {
  readonly db: Db
  /** Milliseconds that only ever grow. */
  readonly nowMs: () => number
  /** Larger texts are not kept. */
  readonly maxBytes?: number
}

interface SeenVersion extends ListVersion {
  readonly seenAtMs: number
}

/** So that what is told, with the question and the answer, is at most a second old. */
const MEMORY_MS = 900
const FORMS = 3
/** Four hundred thousand routes, in each of the forms; more would cost every process more than reading them. */
const MAX_BYTES = 64_000_000

export function createRenderedLists(deps: RenderedListsDeps): RenderedLists {
  const { db, nowMs } = deps
  const versions: TtlCache<SeenVersion | undefined> = createTtlCache({
    ttlMs: MEMORY_MS,
    nowMs,
    maxKeys: FORMS,
  })
  const lists = new Map<ListForm, RenderedList>()
  return {
    current: async (form) => {
      const seen = await versions.get(form, () => see(deps, form))
      if (seen === undefined) return undefined
      const version = agedTo(nowMs(), seen)
      const known = lists.get(form)
      if (known?.version.tag === version.tag) return { ...known, version }
      // Somebody who asked at the same time has seen a newer one already.
      if (known !== undefined && known.version.changedAt > version.changedAt) return known
      const made = { version, body: onceDone(() => render(db, { form, version, ...deps })) }
      lists.set(form, made)
      return made
    },
  }
}

async function see({ db, nowMs }: RenderedListsDeps, form: ListForm) {
  const seenAtMs = nowMs()
  const version = await findListVersion(db, form)
  return version === undefined ? undefined : { ...version, seenAtMs }
}

function agedTo(nowMs: number, { seenAtMs, ...version }: SeenVersion): ListVersion {
  return { ...version, snapshotAgeMs: version.snapshotAgeMs + nowMs - seenAtMs }
}

interface RenderArgs {
  readonly form: ListForm
  readonly version: ListVersion
  readonly maxBytes?: number
}

/** As of the instant of its version, whatever is applied meanwhile. */
async function render(
  db: Db,
  { form, version, maxBytes = MAX_BYTES }: RenderArgs,
): Promise<EncodedBody | null> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const text of routesText(db, form, { asOf: version.changedAt })) {
    const part = Buffer.from(text)
    bytes += part.length
    if (bytes > maxBytes) return null
    parts.push(part)
  }
  return createEncodedBody(Buffer.concat(parts))
}

/** Does a thing when it is first wanted, and once; again only where it failed. */
function onceDone<T>(work: () => Promise<T>): () => Promise<T> {
  let doing: Promise<T> | undefined
  return () => {
    doing ??= work().catch((err: unknown) => {
      doing = undefined
      throw err
    })
    return doing
  }
}
