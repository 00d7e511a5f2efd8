/**
 * What a sync of the routes list costs, on a real PostgreSQL with durable settings, beside the floor: download, read
 * and stage the same list, and nothing else. Both in one run, on the same bytes; figures are medians of the rounds.
 *
 *   npm run bench:sync -- [routes] [rounds]
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { createLogger } from '../src/base/logger.ts'
import { type Db, openDatabase } from '../src/db/database.ts'
import { migrate } from '../src/db/migrate.ts'
import { acquireEmbeddedPostgres } from '../src/embedded/postgres.ts'
import { findPlace } from '../src/embedded/postgres-place.ts'
import { GUARD_LIMITS } from '../src/route-sync/guard.ts'
import { stageSnapshot } from '../src/route-sync/stage-snapshot.ts'
import { syncList } from '../src/route-sync/sync-list.ts'
import { readRouteList } from '../src/upstream/read-route-list.ts'
import { createUpstreamClient, type UpstreamClient } from '../src/upstream/upstream-client.ts'

const ROUTES = Number(process.argv[2] ?? 40_000)
const ROUNDS = Number(process.argv[3] ?? 5)
const PLACES = 4_000
const CHURN = [0, 0.01, 0.2]

const log = createLogger({
  level: 'silent',
  scrub: (t) => t,
  destination: { write: () => undefined },
})
const noScrub = (text: string) => text
const never = new AbortController().signal

/** `generation` moves a share of the routes to other destinations. */
function listOf(generation: number, churn: number): string {
  const moved = Math.floor(ROUTES * churn)
  const place = (i: number) => ({
    id: String(i),
    iata: `X${i}`,
    city: `City ${i}`,
    country: `Country ${i % 90}`,
  })
  const routes = Array.from({ length: ROUTES }, (_, i) => {
    const pair = i < moved ? i + generation * ROUTES : i
    return {
      departure: place(pair % PLACES),
      destination: place(PLACES + (Math.floor(pair / PLACES) % 100_000)),
    }
  })
  return JSON.stringify(routes)
}

interface ListServer {
  body: string
  readonly url: string
  close(): void
}

async function serveLists(): Promise<ListServer> {
  const server = http.createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(served.body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const served = {
    body: '[]',
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => void server.close(),
  }
  return served
}

/** The same bytes downloaded, read and staged, and rolled back. */
async function floorMs(db: Db, upstream: UpstreamClient): Promise<number> {
  const start = performance.now()
  const body = await upstream.fetchRouteList('routes', { signal: never })
  const tx = await db.startTransaction().execute()
  await stageSnapshot(tx, noScrub, readRouteList(body))
  const ms = performance.now() - start
  await tx.rollback().execute()
  return ms
}

/** Download and hash, and nothing else: what an unchanged list must cost at least. */
async function downloadMs(upstream: UpstreamClient): Promise<number> {
  const start = performance.now()
  const { chunks } = await upstream.fetchRouteList('routes', { signal: never })
  const hash = createHash('sha256')
  for (const chunk of chunks) hash.update(chunk)
  hash.digest()
  return performance.now() - start
}

async function ourMs(db: Db, upstream: UpstreamClient): Promise<{ ms: number; status: string }> {
  const start = performance.now()
  const deps = {
    db,
    upstream,
    confirmations: 2,
    guard: { ...GUARD_LIMITS, absentShare: 1, removedPerDayShare: 1 },
    scrub: noScrub,
  }
  const outcome = await syncList(deps, { list: 'routes' }, never)
  return {
    ms: performance.now() - start,
    status: typeof outcome === 'string' ? outcome : outcome.status,
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

async function measure(db: Db, upstream: UpstreamClient, server: ListServer): Promise<void> {
  server.body = listOf(0, 0)
  const baseline = await ourMs(db, upstream)
  console.log(
    `${ROUTES} routes, ${(server.body.length / 1e6).toFixed(1)} MB; baseline ${baseline.ms.toFixed(0)} ms (${baseline.status})`,
  )
  console.log('churn   ours ms   floor ms   ours/floor')
  let generation = 0
  for (const churn of CHURN) {
    const ours: number[] = []
    const floor: number[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      generation += 1
      server.body = listOf(churn === 0 ? 0 : generation, churn)
      floor.push(churn === 0 ? await downloadMs(upstream) : await floorMs(db, upstream))
      ours.push((await ourMs(db, upstream)).ms)
    }
    const against = churn === 0 ? ' (floor: download and hash)' : ''
    const [our, least] = [median(ours), median(floor)]
    console.log(
      `${(churn * 100).toFixed(0).padStart(3)} %  ${our.toFixed(0).padStart(8)}  ${least.toFixed(0).padStart(9)}   ${(our / least).toFixed(2)}${against}`,
    )
  }
}

const home = await mkdtemp(path.join(os.tmpdir(), 'farewatch-bench-'))
const postgres = await acquireEmbeddedPostgres({ home, log })
const database = openDatabase({ url: postgres.url, applicationName: 'bench', log })
const server = await serveLists()
const upstream = createUpstreamClient({ baseUrl: server.url, scrub: (text) => text, log })
try {
  await migrate(database.db)
  await measure(database.db, upstream, server)
} finally {
  await upstream.close()
  server.close()
  await database.close()
  const { directory } = await findPlace(home)
  await postgres.release()
  await rm(directory, { recursive: true, force: true })
  await rm(home, { recursive: true, force: true })
}
