import type { Clock } from '../../base/clock.ts'
import type { Db } from '../../db/database.ts'
import { withSessionLock } from '../../db/session-lock.ts'
import type { RouteListName } from '../../upstream/route-list.ts'

const POLL_MS = 250

/** The one lock of a list: who holds it is the only one, of all processes, that runs or decides about it. */
export function listLock(list: RouteListName): string {
  return `route-sync:${list}`
}

/** Runs `work` once nobody else is at the list. Throws the signal's reason when it aborts while it waits. */
export async function whenListIsFree<T>(
  { db, clock }: { readonly db: Db; readonly clock: Clock },
  { list, signal }: { readonly list: RouteListName; readonly signal: AbortSignal },
  work: (session: Db) => Promise<T>,
): Promise<T> {
  for (;;) {
    const done = await withSessionLock(db, listLock(list), async (session) => ({
      value: await work(session),
    }))
    if (done !== undefined) return done.value
    await clock.sleep(POLL_MS, signal)
  }
}
