import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/db/database.ts'
import { bearer, newKeyText } from '../support/api-server.ts'
import type { RunningCommand } from '../support/child-process.ts'
import { type ChaosPostgres, startChaosPostgres } from './chaos-postgres.ts'
import { eventually } from './eventually.ts'
import { expectInvariants } from './invariants.ts'
import { addressesOf, blockTable, checksOf, faresOf, sold, watch } from './steps.ts'
import { type Backend, openWorld, QUEUES, type World } from './world.ts'

/** What jobs may die of while the database is away: ticks are not tried again, and checks come back by their lease. */
export const AWAY =
  /onnection terminated|terminating connection|ECONNREFUSED|ECONNRESET|recovery mode|starting up|not yet accepting|shutting down|read-only transaction|queue\.unavailable|timeout/

const LISTEN_BACK_MS = 2_000
const RECOVERY_MS = 40_000

interface Ground {
  readonly postgres: ChaosPostgres
  readonly world: World
  readonly worker: RunningCommand
  readonly health: string
  /** Asks the API one question of the database. */
  readonly askApi: () => Promise<Response>
}

/** A worker and an API, each of whose bad moments ends before the next begins. */
async function openGround(backend: Backend): Promise<Ground> {
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
  return { postgres, world, worker, health, askApi: () => fetch(url, { headers: bearer(key) }) }
}

/** A check whose question is asked before the fault and whose answer comes after it counts, and counts once. */
async function expectCheckThrough(world: World, flightId: string, fault: () => Promise<unknown>) {
  const { upstream, living } = world
  const processes = living().length
  upstream.hold([flightId])
  await watch(world, [flightId])
  await eventually('the question', () => upstream.askedOf(flightId) > 0)
  await fault()
  upstream.release()
  const recorded = async () => (await checksOf(world, [flightId]).catch(() => 0)) > 0
  await eventually('its record', recorded, RECOVERY_MS)
  expect(await faresOf(world, [flightId])).toEqual([sold(flightId)])
  expect(living()).toHaveLength(processes)
  await expectInvariants(world, { failures: [AWAY] })
}

const livezOf = (health: string) => new URL('/livez', health).href

/** Waits until every worker of the queue has a connection again on which it listens: BullMQ names it after its queue. */
async function untilListening({ db }: World, since: Date): Promise<void> {
  await eventually('all workers listen', async () => {
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

/** The tests of a database that has bad moments, on one backend of the queue. */
export function describePostgresAway(backend: Backend): void {
  describe(`a PostgreSQL that has a bad moment, with the queue on ${backend}`, {
    timeout: 60_000,
  }, () => {
    let ground: Ground
    beforeAll(async () => {
      ground = await openGround(backend)
    }, 120_000)
    afterAll(async () => {
      await ground.world.close()
      await ground.postgres.close()
    })

    it('is away at a start: the process ends, and says why', async () => {
      const { world } = ground
      const from = performance.now()

      await world.postgresDoor.shut()
      const refused = world.start('worker')
      expect(await refused.ended).toBe(1)
      await world.postgresDoor.open()
      world.postgresDoor.swallow()
      const silent = world.start('worker')
      expect(await silent.ended).toBe(1)
      world.postgresDoor.heal()

      expect(performance.now() - from).toBeLessThan(20_000)
      for (const ended of [refused, silent]) expect(ended.stderr()).toContain('cannot be used')
    })

    it('answers slowly', async () => {
      const { world, askApi } = ground
      const doors = [world.postgresDoor, ...(world.redis === undefined ? [] : [world.redis.door])]
      for (const door of doors) door.slow(30)
      await expectCheckThrough(world, '901', async () => {
        expect((await askApi()).status).toBe(200)
      })
      for (const door of doors) door.slow(0)
    })

    it('ends all connections: checks go on, and the queue listens again in time', async () => {
      const { world, askApi } = ground
      await expectCheckThrough(world, '902', async () => {
        const since = await endAllConnections(world)
        const from = performance.now()
        if (backend === 'postgres') {
          await untilListening(world, since)
          expect(performance.now() - from).toBeLessThan(LISTEN_BACK_MS)
        }
        await eventually('the API', async () => (await askApi()).status === 200)
      })
    })

    it('has its network cut', async () => {
      const { world } = ground
      await expectCheckThrough(world, '903', async () => world.postgresDoor.cut())
    })

    it('falls silent, and is heard again', async () => {
      const { world, health } = ground
      await expectCheckThrough(world, '904', async () => {
        world.postgresDoor.swallow()
        const silentFrom = performance.now()
        // What it is asked there it cannot know before its deadline.
        expect((await fetch(health)).status).toBe(503)
        expect((await fetch(livezOf(health))).status).toBe(200)
        expect(performance.now() - silentFrom).toBeLessThan(5_000)
        world.postgresDoor.heal()
      })
    })

    it('crashes and starts again: nothing that was committed is lost, nobody ends', async () => {
      const { world, postgres, askApi, health } = ground
      await expectCheckThrough(world, '905', async () => {
        await postgres.crash()
        const refused = await askApi()
        expect(refused.status).toBe(503)
        expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
        expect((await fetch(livezOf(health))).status).toBe(200)
        await postgres.start()
        await eventually('the API', async () => (await askApi()).status === 200)
      })
    })

    it('refuses writes after a failover, and takes them again', async () => {
      const { world, askApi } = ground
      await expectCheckThrough(world, '906', async () => {
        await setReadOnly(world, true)
        await endAllConnections(world)
        await eventually('the API', async () => (await askApi()).status === 200)
        await eventually('a refusal', () => world.said().includes('read-only transaction'))
        await setReadOnly(world, false)
      })
    })

    it('keeps a whole pool waiting: others are told to come again, health answers, nothing is stuck', async () => {
      const { world, askApi, health } = ground
      const release = await blockTable(world, 'farewatch_private.sync_run', 'access exclusive')
      const asked = Array.from({ length: 30 }, () => askApi())
      const first = await Promise.any(
        asked.map(async (answer) => {
          const { status } = await answer
          if (status !== 503) throw new Error(`an answer of ${status}`)
        }),
      ).then(() => 'refused')
      expect((await fetch(livezOf(health))).status).toBe(200)
      expect((await fetch(health)).status).toBe(503)
      await release()

      const answers = await Promise.all(asked)
      const statuses = new Set(answers.map(({ status }) => status))
      expect(first).toBe('refused')
      expect(statuses).toEqual(new Set([200, 503]))
      for (const answer of answers.filter(({ status }) => status === 503)) {
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      }
      expect((await askApi()).status).toBe(200)
      await expectInvariants(world, { failures: [AWAY] })
    })
  })
}
