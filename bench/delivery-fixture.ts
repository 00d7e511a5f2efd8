/** The fixture of bench/delivery.ts: five resellers with 80 endpoints that answer and 20 that hang, and their records. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import os from 'node:os'
import path from 'node:path'
import { type App, migrateApp, openApp } from '../src/app/app.ts'
import { targetRulesOf } from '../src/app/settings-for.ts'
import { createEndpoint } from '../src/delivery/endpoints/change-endpoints.ts'
import { appendWatchDrafts, createWatchDrafts } from '../src/feeds/append-records.ts'
import { systemClock } from '../src/platform/base/clock.ts'
import type { ResellerId } from '../src/platform/base/reseller-id.ts'
import { loadConfig } from '../src/platform/config/config.ts'
import { sql } from '../src/platform/db/database.ts'
import { inTransaction } from '../src/platform/db/transaction.ts'
import { createReseller } from '../src/resellers/resellers.ts'
import { importWatchList } from '../src/watches/import/import-watch-list.ts'
import { rowsOf } from '../src/watches/rows/watch-row.ts'
import { log } from './verify-fixture.ts'

export const RESELLERS = 5
/** Each has one endpoint that answers. Four of them share an endpoint that hangs. */
const LISTS = 16
const HANGING = 4

export interface Receiver {
  readonly url: string
  /** The number of answered requests and the time from each record to its arrival, since the last call. */
  report(): Promise<{ received: number; lagsMs: number[] }>
  close(): void
}

export async function startReceiver(): Promise<Receiver> {
  const child: ChildProcess = fork(path.join(import.meta.dirname, 'delivery-receiver.ts'))
  const [port] = (await once(child, 'message')) as [number]
  return {
    url: `http://127.0.0.1:${port}`,
    report: async () => {
      child.send('report')
      return ((await once(child, 'message')) as [{ received: number; lagsMs: number[] }])[0]
    },
    close: () => child.disconnect(),
  }
}

export function openDeliveryApp(databaseUrl: string, redisUrl: string | undefined): App {
  const stores = { DATABASE_URL: databaseUrl, UPSTREAM_BASE_URL: 'http://127.0.0.1:9' }
  const config = loadConfig(
    {
      ...stores,
      REDIS_URL: redisUrl,
      ENCRYPTION_KEY: 'the key of a benchmark, 0123456789',
      WEBHOOK_ALLOW_HTTP: 'on',
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32',
      ROUTE_SYNC_SCHEDULE: '0 0 1 1 *',
      AVAILABILITY_SYNC_SCHEDULE: '0 0 1 1 *',
    },
    os.tmpdir(),
  )
  return openApp({ config: { ...config, ...stores }, log, clock: systemClock, role: 'bench' })
}

/** Creates resellers, a watch a list, and the endpoints. No fare is checked. */
export async function seed(app: App, { url }: Receiver): Promise<void> {
  await migrateApp(app)
  const { db } = app.database
  const deps = { sealer: app.sealer, targetRules: targetRulesOf(app.config) }
  for (let r = 0; r < RESELLERS; r += 1) {
    const { id } = await createReseller(db, `bench-${r}`)
    const rows = Array.from({ length: LISTS }, (_, i) => ({
      list: `list-${i}`,
      reference: `w${i}`,
      flight_id: String(1_000_000 + 100 * r + i),
      residents_adults: '0',
      non_residents_adults: '1',
    }))
    await importWatchList(db, { resellerId: id, source: rowsOf('bench', rows) })
    const owner = { db, resellerId: id as ResellerId }
    for (let i = 0; i < LISTS; i += 1) {
      await createEndpoint(owner, deps, { target: `${url}/ok-${r}-${i}`, lists: [`list-${i}`] })
    }
    for (let h = 0; h < HANGING; h += 1) {
      const lists = Array.from({ length: LISTS }, (_, i) => i)
        .filter((i) => i % HANGING === h)
        .map((i) => `list-${i}`)
      await createEndpoint(owner, deps, { target: `${url}/hang-${r}-${h}`, lists })
    }
  }
  await sql`delete from fare_schedule`.execute(db)
  await sql`analyze`.execute(db)
}

/** Enables endpoints and disables the rest. */
export async function enable(
  { database: { db } }: App,
  which: 'all' | 'those that answer' | 'none',
): Promise<void> {
  const isEnabled = {
    all: sql`true`,
    'those that answer': sql`cardinality(lists) = 1`,
    none: sql`false`,
  }[which]
  await sql`
    update webhook_endpoint
       set disabled_at = case when ${isEnabled} then null else now() end,
           disabled_reason = case when ${isEnabled} then null else 'paused' end
  `.execute(db)
}

/** Deletes all deliveries, and puts all cursors at the ends of their feeds. */
export async function clear({ database: { db } }: App): Promise<void> {
  await sql`truncate delivery cascade`.execute(db)
  await sql`
    update webhook_endpoint e
       set cursor_seq = r.last_seq, failures = 0, failing_since = null, open_until = null, held_until = null
      from reseller r where r.id = e.reseller_id
  `.execute(db)
}

const BELIEF = JSON.stringify({
  pair: 'bookable',
  outbound: {
    belief: 'available',
    price: { amount: '120.40', currency: 'EUR' },
    identity: 'x',
    itinerary: 'y',
    flight: null,
  },
  return: null,
  price: { amount: '120.40', currency: 'EUR' },
})

/** Appends records in one transaction, spread over all watches from the n-th on. */
export async function append(
  { database: { db } }: App,
  from: number,
  count: number,
): Promise<void> {
  await inTransaction(db, async (tx) => {
    await createWatchDrafts(tx)
    await sql`
      with head as (
        update feed_head set last_seq = last_seq + ${count} where feed = 'availability' returning last_seq - ${count} as first
      ), watched as (
        select id, reseller_id, reference, tracked_fare_id, row_number() over (order by id) - 1 as n, count(*) over () as watches
          from watch
      ), appended as (
        insert into availability_change (seq, kind, tracked_fare_id, before, after, detected_at, provenance)
        select h.first + g.n + 1, 'price_changed', w.tracked_fare_id, ${BELIEF}::jsonb, ${BELIEF}::jsonb, clock_timestamp(), '{}'
          from head h, generate_series(0, ${count - 1}::int) g (n)
          join watched w on w.n = (${from}::int + g.n) % w.watches
        returning id, seq, tracked_fare_id
      )
      insert into watch_change_draft (reseller_id, watch_id, reference, change_id, change_seq)
      select w.reseller_id, w.id, w.reference, a.id, a.seq from appended a join watched w using (tracked_fare_id)
    `.execute(tx)
    await appendWatchDrafts(tx)
  })
}

/** Follows the stream of the first reseller. Calls `onRecord` with the time from each record to its arrival. */
export async function followStream(
  { url, key }: { readonly url: string; readonly key: string },
  onRecord: (lagMs: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const { body } = await fetch(`${url}/api/v1/watch-changes/stream`, {
    signal,
    headers: { authorization: `Bearer ${key}` },
  })
  let text = ''
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const arrivedMs = Date.now()
    text += chunk
    const end = text.lastIndexOf('\n') + 1
    for (const [, json = ''] of text.slice(0, end).matchAll(/^data: (\{.*)$/gm)) {
      const { recordedAt } = JSON.parse(json) as { recordedAt?: string }
      if (recordedAt !== undefined) onRecord(arrivedMs - Date.parse(recordedAt))
    }
    text = text.slice(end)
  }
}
