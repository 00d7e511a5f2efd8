import type { Clock } from '../../base/clock.ts'
import type { Db } from '../../db/database.ts'
import type { EndpointGroup, GroupStates } from './breaker-state.ts'
import { readHealth, type UpstreamHealth } from './breaker-store.ts'

/** An older reading is refreshed in the background while it is still used. At twice this age it is refreshed first. */
const FRESH_MS = 250

/** This process's view of the upstream's health. It is at most half a second old, and includes our own writes. */
export interface HealthView {
  /** Throws only if no reading ever succeeded. While the database is unavailable the last reading is used. */
  current(): Promise<UpstreamHealth>
  /** The last reading, without a query. Undefined before the first reading. */
  known(): UpstreamHealth | undefined
  /** The database's clock in milliseconds, estimated from the last reading. */
  nowMs(): number
  /** Adds a write of this process to the view. */
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
    const writesBefore = writes
    const found = await readHealth(db)
    readAtMs = clock.now().getTime()
    skewMs = found.nowMs - readAtMs
    // A write during the reading may be missing in the result.
    if (health === undefined || writes === writesBefore) health = found
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
      // The age is negative after the clock was set back. Then the reading counts as old.
      const fresh = ageMs >= 0 && ageMs < FRESH_MS
      if (health !== undefined && fresh) return health
      const refreshed = refresh()
      if (health === undefined) await refreshed
      else if (ageMs >= 0 && ageMs < 2 * FRESH_MS) refreshed.catch(() => undefined)
      else await refreshed.catch(() => undefined)
      if (health === undefined) throw new Error('the upstream health was read but is missing')
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
