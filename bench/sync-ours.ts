/** A sync like the worker's, with wider limits of the guard: the benches change more of a list than the guard allows. */

import { createLogger } from '../src/platform/base/logger.ts'
import type { Db } from '../src/platform/db/database.ts'
import { GUARD_LIMITS } from '../src/routes/guard.ts'
import { syncList } from '../src/routes/sync.ts'
import type { UpstreamClient } from '../src/upstream/upstream-client.ts'

export const log = createLogger({
  level: 'silent',
  scrub: (text) => text,
  destination: { write: () => undefined },
})

export async function syncOnce(
  db: Db,
  upstream: UpstreamClient,
): Promise<{ readonly ms: number; readonly status: string }> {
  const start = performance.now()
  const guard = { ...GUARD_LIMITS, absentShare: 1, removedPerDayShare: 1 }
  const deps = { db, upstream, confirmations: 2, guard, scrub: (text: string) => text }
  const result = await syncList(deps, { list: 'routes' }, new AbortController().signal)
  const ms = performance.now() - start
  return { ms, status: result.kind === 'ran' ? result.outcome.status : result.kind }
}
