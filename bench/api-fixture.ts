/** The data of bench/api.ts: a network of routes with some changes, and a watch with a history. */

import { createHash } from 'node:crypto'
import type { App } from '../src/app/app.ts'
import type { RouteListName } from '../src/platform/base/kinds.ts'
import { sql } from '../src/platform/db/database.ts'
import { selectOne } from '../src/platform/db/transaction.ts'
import { createApiKey } from '../src/resellers/api-keys.ts'
import { GUARD_LIMITS } from '../src/routes/guard.ts'
import { syncList } from '../src/routes/sync.ts'
import type { Route } from '../src/upstream/route-list.ts'
import { seedFares } from './verify-fixture.ts'

const PLACES = 400
const INTERVALS = 500

export interface Seeded {
  readonly key: string
  readonly resellerId: number
  readonly watchId: string
}

/** `changes` routes are added by a second list, one record of the feed each. */
export async function seedApi(
  app: App,
  { routes, changes, fares }: { routes: number; changes: number; fares: number },
): Promise<Seeded> {
  await seedFares(app, fares)
  const all = Array.from({ length: routes }, (_, i) => routeOf(i))
  await pull(app, 'routes', all.slice(0, routes - changes))
  await pull(app, 'routes', all)
  await pull(
    app,
    'with-availability',
    all.filter((_, i) => i % 6 > 0),
  )
  const { db } = app.database
  const watch = await selectOne(
    sql<Omit<Seeded, 'key'> & { fareId: number }>`
      select id as "watchId", reseller_id as "resellerId", tracked_fare_id as "fareId"
        from watch where reference = 'w0'
    `,
    db,
  )
  await seedHistory(app, watch.fareId)
  const { text: key } = await createApiKey(db, { resellerId: watch.resellerId })
  await sql`vacuum (analyze)`.execute(db)
  return { ...watch, key }
}

function routeOf(i: number): Route {
  const place = (n: number) => ({
    id: String(1_000 + n),
    iata: `X${n.toString(36).padStart(2, '0').toUpperCase()}`,
    city: `City of number ${n}`,
    country: `Country ${n % 40}`,
  })
  const from = i % PLACES
  return {
    departure: place(from),
    destination: place((from + 1 + Math.floor(i / PLACES)) % PLACES),
  }
}

async function pull(app: App, list: RouteListName, routes: readonly Route[]): Promise<void> {
  const bytes = Buffer.from(JSON.stringify(routes))
  const upstream = {
    fetchRouteListIfModified: async () => ({
      chunks: [bytes],
      bytes: bytes.length,
      contentHash: createHash('sha256').update(bytes).digest('hex'),
      downloadMs: 0,
      validators: { etag: null, lastModified: null },
    }),
  }
  const deps = { ...app.syncDeps, upstream, guard: GUARD_LIMITS }
  const result = await syncList(deps, { list }, new AbortController().signal)
  if (result.kind !== 'ran' || result.outcome.status !== 'applied') {
    throw new Error(`the list was not applied: ${JSON.stringify(result)}`)
  }
}

/**
 * Intervals of one hour, each with another price. The watch begins with the first of them. Only this watch is dated
 * back, and by less than 30 days: a watch that was never available for that long expires and is not checked.
 */
async function seedHistory({ database: { db } }: App, fareId: number): Promise<void> {
  await sql`
    insert into fare_belief_version (tracked_fare_id, outbound, pair, price, currency, valid_from, valid_to)
    select ${fareId}::bigint, 'available', 'bookable', 80 + n, 'EUR',
           clock_timestamp() - make_interval(hours => ${INTERVALS}::int - n),
           case when n < ${INTERVALS}::int - 1 then clock_timestamp() - make_interval(hours => ${INTERVALS}::int - n - 1) end
      from generate_series(0, ${INTERVALS}::int - 1) n
  `.execute(db)
  await sql`
    update watch set began_at = clock_timestamp() - make_interval(hours => ${INTERVALS}::int)
     where tracked_fare_id = ${fareId}
  `.execute(db)
}
