import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bearer, newKeyText } from '../support/api-server.ts'
import { addressesOf } from '../support/child-process.ts'
import { hasRedisServer } from '../support/redis-tier.ts'
import { eventually } from './eventually.ts'
import { expectInvariants } from './invariants.ts'
import type { OwnRedis } from './own-redis.ts'
import { bookable, checksOf, faresOf, makeListDue, runsOf, watch } from './steps.ts'
import { openWorld, type World } from './world.ts'

/** Errors that dead jobs may have after an outage of Redis. */
const OUTAGE_ERRORS = /queue\.unavailable|OOM|READONLY|Connection is closed|ECONN/
/** Lost jobs are enqueued again every 60 s at the latest; 10 s more cover a tick. */
const REBUILT_MS = 70_000

describe.runIf(hasRedisServer())('an outage of Redis', { timeout: 120_000 }, () => {
  let world: World
  let redis: OwnRedis
  let callApi: () => Promise<Response>
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
    callApi = () => fetch(new URL('/api/v1/sync-runs', status), { headers: bearer(key) })
    await eventually('the baseline', async () => (await runsOf(world))[0] === 'applied')
  }, 120_000)
  afterAll(() => world.close())

  /** Expects that the check and the list that became due during the outage each run once. */
  async function expectDueWorkDone(flightId: string, withinMs = REBUILT_MS): Promise<void> {
    syncs += 1
    await eventually('the check', async () => (await checksOf(world, [flightId])) === 1, withinMs)
    await eventually('the list', async () => (await runsOf(world)).length === syncs, withinMs)
    expect(await faresOf(world, [flightId])).toEqual([bookable(flightId)])
    expect(world.running()).toHaveLength(2)
    await expectInvariants(world, { failures: [OUTAGE_ERRORS] })
  }

  async function makeWorkDue(flightId: string): Promise<void> {
    await watch(world, [flightId])
    await makeListDue(world)
  }

  it('a process that starts while Redis is down exits with the reason', async () => {
    await redis.proxy.shut()
    const worker = world.start('worker')
    expect(await worker.ended).toBe(1)
    await redis.proxy.open()

    expect(worker.stderr()).toMatch(/redis 127\.0\.0\.1:\d+\) cannot be used/)
    expect(worker.stderr()).toContain('check that Redis runs')
  })

  /** What begins the outage and, unless it ends by itself, what shows that it is met and what ends it. */
  const OUTAGES: readonly (readonly [
    string,
    (redis: OwnRedis) => unknown,
    string?,
    ((redis: OwnRedis) => unknown)?,
  ])[] = [
    // Fault: Redis restarts without its data.
    ['due work is rebuilt after Redis restarts without its data', ({ restart }) => restart()],
    [
      // Fault: Redis is out of memory.
      'the API continues and no work is lost while Redis is out of memory',
      ({ command }) => command('CONFIG', 'SET', 'maxmemory', '1'),
      'OOM',
      ({ command }) => command('CONFIG', 'SET', 'maxmemory', '0'),
    ],
    [
      // Fault: Redis is a read-only replica.
      'the API continues and no work is lost while Redis is a read-only replica',
      ({ command }) => command('REPLICAOF', '127.0.0.1', '1'),
      'READONLY',
      ({ command }) => command('REPLICAOF', 'NO', 'ONE'),
    ],
    [
      // Fault: Redis does not answer.
      'the API continues and no work is lost while Redis does not answer',
      ({ proxy }) => proxy.stall(),
      'no answer within',
      ({ proxy }) => proxy.resume(),
    ],
    [
      // Fault: Redis is emptied.
      'due work is rebuilt within about a minute after FLUSHALL',
      ({ command }) => command('FLUSHALL'),
    ],
  ]

  it.for(OUTAGES)('%s', async ([name, begin, seen, end]) => {
    const flightId = String(910 + OUTAGES.findIndex(([one]) => one === name))
    await begin(redis)
    await makeWorkDue(flightId)
    await eventually('the outage', () => seen === undefined || world.output().includes(seen))
    expect((await callApi()).status).toBe(200)
    await end?.(redis)
    await expectDueWorkDone(flightId)
  })

  // Fault: The network to Redis is cut.
  it('a check is recorded once when the network to Redis is cut during it', async () => {
    const { upstream } = world
    upstream.hold(['905'])
    await makeWorkDue('905')
    await eventually('the request', () => upstream.requestsFor('905') > 0)

    redis.proxy.cut()

    upstream.release()
    await expectDueWorkDone('905')
  })
})
