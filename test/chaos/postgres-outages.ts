import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { bearer, newKeyText } from '../support/api-server.ts'
import type { RunningCommand } from '../support/child-process.ts'
import { addressesOf } from '../support/child-process.ts'
import { type ChaosPostgres, startChaosPostgres } from './chaos-postgres.ts'
import { eventually } from './eventually.ts'
import { expectInvariants } from './invariants.ts'
import { blockTable, bookable, checksOf, faresOf, watch } from './steps.ts'
import { type Backend, openWorld, QUEUES, type World } from './world.ts'

/** Errors that dead jobs may have after an outage: ticks are not retried, and fares are due again after their lease. */
export const OUTAGE_ERRORS =
  /onnection terminated|is not queryable|terminating connection|ECONNREFUSED|ECONNRESET|recovery mode|starting up|not yet accepting|shutting down|read-only transaction|queue\.unavailable|timeout/

const LISTEN_BACK_MS = 2_000
/** Less than the lease, so that a fare whose answer was lost and which is asked again does not pass for one recorded. */
const RECOVERY_MS = 45_000

interface OutageFixture {
  readonly postgres: ChaosPostgres
  readonly world: World
  readonly worker: RunningCommand
  readonly health: string
  /** Sends a request that needs the database, by default with the key of the fixture. */
  readonly callApi: (key?: string) => Promise<Response>
  /** Sends a request that writes to the database. */
  readonly write: () => Promise<Response>
}

/** Starts a worker and an API that all tests share. Each test ends its fault before it returns. */
async function openFixture(backend: Backend): Promise<OutageFixture> {
  const postgres = await startChaosPostgres()
  const databaseUrl = await postgres.createDatabase('farewatch_chaos_test')
  const world = await openWorld(backend, { databaseUrl })
  world.upstream.sell(Array.from({ length: 100 }, (_, i) => String(900 + i)))
  const key = await newKeyText(world.db)
  const worker = world.start('worker')
  const api = world.start('api', { API_REQUESTS_PER_SECOND: '1000' })
  const { api: status, health } = await addressesOf(api)
  await addressesOf(worker)
  const url = new URL('/api/v1/sync-runs', status).href
  return {
    postgres,
    world,
    worker,
    health,
    callApi: (given = key) => fetch(url, { headers: bearer(given) }),
    write: () =>
      fetch(new URL('/api/v1/resellers', status), {
        method: 'POST',
        headers: { ...bearer(key), 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'fabrikam' }),
      }),
  }
}

/**
 * Expects that a check whose request precedes the fault and whose answer follows it is recorded once.
 * @param end ends a fault that is to last until the record.
 */
async function expectCheckThrough(
  world: World,
  flightId: string,
  fault: () => Promise<unknown>,
  end?: () => unknown,
) {
  const { upstream, running } = world
  const processes = running().length
  upstream.hold([flightId])
  await watch(world, [flightId])
  await eventually('the request', () => upstream.requestsFor(flightId) > 0)
  await fault()
  upstream.release()
  const recorded = async () => (await checksOf(world, [flightId]).catch(() => 0)) > 0
  await eventually('the record', recorded, RECOVERY_MS)
  end?.()
  expect(await faresOf(world, [flightId])).toEqual([bookable(flightId)])
  expect(running()).toHaveLength(processes)
  await expectInvariants(world, { failures: [OUTAGE_ERRORS] })
}

const livezOf = (health: string) => new URL('/livez', health).href

/** Waits until every worker of the queue has a new connection that listens. BullMQ names that connection after the queue. */
async function untilListening({ db }: World, since: Date): Promise<void> {
  await eventually('workers that listen', async () => {
    const { rows } = await sql<{ listening: number }>`
      select count(*) as listening from pg_stat_activity
       where datname = current_database() and application_name = any(${QUEUES}::text[])
         and backend_start > ${since}
    `.execute(db)
    return rows[0]?.listening === QUEUES.length
  })
}

async function endAllConnections({ db }: World): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`
    select clock_timestamp() as now, count(pg_terminate_backend(pid)) from pg_stat_activity
     where datname = current_database() and application_name <> 'test'
  `.execute(db)
  return rows[0]?.now ?? new Date()
}

async function setReadOnly({ db }: World, readOnly: boolean): Promise<void> {
  const change = readOnly
    ? 'set default_transaction_read_only = on'
    : 'reset default_transaction_read_only'
  await sql`${sql.raw(`alter system ${change}`)}`.execute(db)
  await sql`select pg_reload_conf()`.execute(db)
}

export function describePostgresOutages(backend: Backend): void {
  describe(`an outage of PostgreSQL, with the queue on ${backend}`, {
    timeout: 120_000,
  }, () => {
    let fixture: OutageFixture
    beforeAll(async () => {
      fixture = await openFixture(backend)
    }, 120_000)
    afterAll(async () => {
      await fixture.world.close()
      await fixture.postgres.close()
    })

    // Fault: A process starts while a store is down.
    it('a process that starts while PostgreSQL is down exits with the reason', async () => {
      const { world } = fixture
      const from = performance.now()

      await world.postgresProxy.shut()
      const refused = world.start('worker')
      expect(await refused.ended).toBe(1)
      await world.postgresProxy.open()
      world.postgresProxy.stall()
      const unanswered = world.start('worker')
      expect(await unanswered.ended).toBe(1)
      world.postgresProxy.resume()

      expect(performance.now() - from).toBeLessThan(20_000)
      for (const ended of [refused, unanswered]) expect(ended.stderr()).toContain('cannot be used')
    })

    // Fault: PostgreSQL answers slowly.
    it('a check is recorded once while PostgreSQL answers slowly', async () => {
      const { world, callApi } = fixture
      const proxies = [world.postgresProxy, world.redis?.proxy]
      const slow = (ms: number) => proxies.map((proxy) => proxy?.slow(ms))
      slow(30)
      await expectCheckThrough(
        world,
        '901',
        async () => expect((await callApi()).status).toBe(200),
        () => slow(0),
      )
    })

    // Fault: PostgreSQL ends all connections.
    it('a check is recorded once when all connections end, and the queue listens again within two seconds', async () => {
      const { world, callApi } = fixture
      await expectCheckThrough(world, '902', async () => {
        const since = await endAllConnections(world)
        const from = performance.now()
        if (backend === 'postgres') {
          await untilListening(world, since)
          expect(performance.now() - from).toBeLessThan(LISTEN_BACK_MS)
        }
        await eventually('the API', async () => (await callApi()).status === 200)
      })
    })

    // Fault: The network to PostgreSQL is cut.
    it('a check is recorded once when the network to PostgreSQL is cut', async () => {
      const { world } = fixture
      await expectCheckThrough(world, '903', async () => world.postgresProxy.cut())
    })

    // Fault: PostgreSQL does not answer, or a connection is half open.
    it('a check is recorded once when PostgreSQL does not answer for a while', async () => {
      const { world, health } = fixture
      await expectCheckThrough(world, '904', async () => {
        world.postgresProxy.stall()
        const stalledFrom = performance.now()
        // All processes share it, so none is taken out of service. Its check is reported after the timeout of the query.
        expect((await fetch(health)).status).toBe(200)
        const verbose = await fetch(`${health}?verbose`)
        expect(await verbose.json()).toMatchObject({
          checks: expect.arrayContaining([
            expect.objectContaining({ name: 'database', fault: expect.any(String) as string }),
          ]) as object,
        })
        expect((await fetch(livezOf(health))).status).toBe(200)
        expect(performance.now() - stalledFrom).toBeLessThan(5_000)
        world.postgresProxy.resume()
      })
    })

    // Fault: PostgreSQL crashes and restarts.
    it('a crash of PostgreSQL loses nothing that was committed and ends no process', async () => {
      const { world, postgres, callApi, health } = fixture
      await expectCheckThrough(world, '905', async () => {
        await postgres.crash()
        const refused = await callApi()
        expect(refused.status).toBe(503)
        expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
        expect((await fetch(livezOf(health))).status).toBe(200)
        await postgres.start()
        await eventually('the API', async () => (await callApi()).status === 200)
      })
    })

    // Fault: PostgreSQL refuses writes after a failover.
    it('a check is recorded once when PostgreSQL refuses writes after a failover for a while', async () => {
      const { world, worker, callApi, write } = fixture
      await expectCheckThrough(world, '906', async () => {
        await setReadOnly(world, true)
        await endAllConnections(world)
        await eventually('the API', async () => (await callApi()).status === 200)
        await eventually('a refused write', async () => (await write()).status === 503)
        const logged = worker.stdout().length
        world.upstream.release()
        await eventually('the answer that waits', () =>
          worker.stdout().slice(logged).includes('answers wait for the database'),
        )
        await setReadOnly(world, false)
      })
    })

    // Fault: All connections of the pool are in use.
    it('a pool whose connections all wait makes requests fail with 503 and Retry-After, and health answers', async () => {
      const { world, callApi, health } = fixture
      const release = await blockTable(world, 'farewatch_private.sync_run', 'access exclusive')
      // One key has two handlers at a time.
      const keys = await Promise.all(Array.from({ length: 15 }, () => newKeyText(world.db)))
      const requests = keys.flatMap((key) => [callApi(key), callApi(key)])
      const first = await Promise.any(
        requests.map(async (answer) => {
          const { status } = await answer
          if (status !== 503) throw new Error(`an answer of ${status}`)
        }),
      ).then(() => 'refused')
      expect((await fetch(livezOf(health))).status).toBe(200)
      expect((await fetch(health)).status).toBe(200)
      await release()

      const answers = await Promise.all(requests)
      const statuses = new Set(answers.map(({ status }) => status))
      expect(first).toBe('refused')
      expect(statuses).toEqual(new Set([200, 503]))
      for (const answer of answers.filter(({ status }) => status === 503)) {
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      }
      expect((await callApi()).status).toBe(200)
      await expectInvariants(world, { failures: [OUTAGE_ERRORS] })
    })
  })
}
