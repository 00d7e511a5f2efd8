import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TICK_QUEUE } from '../../src/schedules/reconciler.ts'
import { bearer, newKeyText } from '../support/api-server.ts'
import { hasRedisServer } from '../support/redis-tier.ts'
import { eventually } from './eventually.ts'
import { expectInvariants } from './invariants.ts'
import type { OwnRedis } from './own-redis.ts'
import { addressesOf, checksOf, faresOf, makeListDue, runsOf, sold, watch } from './steps.ts'
import { openWorld, type World } from './world.ts'

/** What jobs may die of while the store of the queue is away: ticks are not tried again. */
const AWAY = /queue\.unavailable|OOM|READONLY|Connection is closed|ECONN/
/** The schedules are looked at every minute; the rest is the time of a tick. */
const REBUILT_MS = 70_000

describe.runIf(hasRedisServer())('a Redis that has a bad moment', { timeout: 120_000 }, () => {
  let world: World
  let redis: OwnRedis
  let askApi: () => Promise<Response>
  let syncs = 1

  beforeAll(async () => {
    world = await openWorld('redis')
    if (world.redis === undefined) throw new Error('the world has no Redis')
    redis = world.redis
    world.upstream.sell(Array.from({ length: 100 }, (_, i) => String(900 + i)))
    const key = await newKeyText(world.db)
    const worker = world.start('worker')
    const api = world.start('api')
    const { api: status } = await addressesOf(api)
    await addressesOf(worker)
    askApi = () => fetch(new URL('/api/v1/sync-runs', status), { headers: bearer(key) })
    await eventually('the baseline', async () => (await runsOf(world))[0] === 'applied')
  }, 120_000)
  afterAll(() => world.close())

  /** What is owed by the tables is done: a check and a list that came due while Redis was away, each once. */
  async function expectWorkAgain(flightId: string, withinMs = REBUILT_MS): Promise<void> {
    syncs += 1
    await eventually('the check', async () => (await checksOf(world, [flightId])) === 1, withinMs)
    await eventually('the list', async () => (await runsOf(world)).length === syncs, withinMs)
    expect(await faresOf(world, [flightId])).toEqual([sold(flightId)])
    expect(world.living()).toHaveLength(2)
    await expectInvariants(world, { failures: [AWAY] })
  }

  async function oweWork(flightId: string): Promise<void> {
    await watch(world, [flightId])
    await makeListDue(world)
  }

  it('is away at a start: the process ends, and says why', async () => {
    await redis.door.shut()
    const worker = world.start('worker')
    expect(await worker.ended).toBe(1)
    await redis.door.open()

    expect(worker.stderr()).toMatch(/redis 127\.0\.0\.1:\d+\) cannot be used/)
    expect(worker.stderr()).toContain('check that Redis runs')
  })

  it('restarts, and has kept nothing: ticks and owed work are rebuilt', async () => {
    await redis.restart()
    await oweWork('901')

    expect((await askApi()).status).toBe(200)
    await expectWorkAgain('901')
  })

  it('refuses writes, out of memory: the API serves on, and nothing is lost', async () => {
    await redis.ask('CONFIG', 'SET', 'maxmemory', '1')
    await oweWork('902')
    await eventually('a refusal', () => world.said().includes('OOM'))

    expect((await askApi()).status).toBe(200)
    await redis.ask('CONFIG', 'SET', 'maxmemory', '0')
    await expectWorkAgain('902')
  })

  it('is a replica for a while: the API serves on, and nothing is lost', async () => {
    await redis.ask('REPLICAOF', '127.0.0.1', '1')
    await oweWork('903')
    await eventually('a refusal', () => world.said().includes('READONLY'))

    expect((await askApi()).status).toBe(200)
    await redis.ask('REPLICAOF', 'NO', 'ONE')
    await expectWorkAgain('903')
  })

  it('falls silent, and is heard again', async () => {
    redis.door.swallow()
    await oweWork('904')
    await eventually('a call that was given up', () => world.said().includes('no answer within'))

    expect((await askApi()).status).toBe(200)
    redis.door.heal()
    await expectWorkAgain('904')
  })

  it('has its network cut in the middle of a check', async () => {
    const { upstream } = world
    upstream.hold(['905'])
    await oweWork('905')
    await eventually('the question', () => upstream.askedOf('905') > 0)

    redis.door.cut()

    upstream.release()
    await expectWorkAgain('905')
  })

  it('is emptied, and nobody is told: ticks and owed work are back within about a minute', async () => {
    await redis.ask('FLUSHALL')
    await oweWork('906')
    expect(await world.queue.counts(TICK_QUEUE)).toMatchObject({ delayed: 0 })

    await expectWorkAgain('906')
  })
})
