import type { Clock } from '../../base/clock.ts'
import type { Db } from '../../db/database.ts'
import type { EndpointGroup } from './breaker-state.ts'
import { type GroupStates, readHealth, type UpstreamHealth } from './breaker-store.ts'

/** Older than this, what is known is read again while it is still used; older than twice this, before it is. */
const FRESH_MS = 250

/** What this process knows of the upstream's health: at most half a second old, and its own part not at all. */
export interface HealthView {
  /** Throws only where nothing was ever read: a store that is away for a moment leaves us what we know. */
  current(): Promise<UpstreamHealth>
  /** The same without asking; undefined before the first reading. */
  known(): UpstreamHealth | undefined
  /** The database's clock, in milliseconds, as far as the last reading told it. */
  nowMs(): number
  /** What this process has just written. */
  putStates(group: EndpointGroup, states: GroupStates): void
  putPause(pausedUntilMs: number): void
}

export function createHealthView({ db, clock }: { db: Db; clock: Clock }): HealthView {
  let health: UpstreamHealth | undefined
  let readAtMs = Number.NEGATIVE_INFINITY
  let skewMs = 0
  let writes = 0
  let reading: Promise<void> | undefined

  async function read(): Promise<void> {
    const begunAfter = writes
    const found = await readHealth(db)
    readAtMs = clock.now().getTime()
    skewMs = found.nowMs - readAtMs
    // What was written meanwhile may be missing in it.
    if (health === undefined || writes === begunAfter) health = found
  }

  function refresh(): Promise<void> {
    reading ??= read().finally(() => {
      reading = undefined
    })
    return reading
  }

  function put(change: Partial<UpstreamHealth>): void {
    writes += 1
    if (health !== undefined) health = { ...health, ...change }
  }

  return {
    async current() {
      const ageMs = clock.now().getTime() - readAtMs
      // A clock that was set back makes no reading young.
      const fresh = ageMs >= 0 && ageMs < FRESH_MS
      if (health !== undefined && fresh) return health
      const refreshed = refresh()
      if (health === undefined) await refreshed
      else if (ageMs >= 0 && ageMs < 2 * FRESH_MS) refreshed.catch(() => undefined)
      else await refreshed.catch(() => undefined)
      if (health === undefined) throw new Error('the upstream health was read and is not there')
      return health
    },
    known: () => health,
    nowMs: () => clock.now().getTime() + skewMs,
    putStates: (group, states) => {
      if (health !== undefined) put({ breakers: { ...health.breakers, [group]: states } })
    },
    putPause: (pausedUntilMs) => put({ pausedUntilMs }),
  }
}
