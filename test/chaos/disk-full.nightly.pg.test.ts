import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { livePairs, manyRoutes } from '../routes/sync-fixtures.ts'
import { bearer, newKeyText } from '../support/api-server.ts'
import { addressesOf } from '../support/child-process.ts'
import { type ChaosPostgres, startChaosPostgres } from './chaos-postgres.ts'
import { eventually } from './eventually.ts'
import { expectInvariants } from './invariants.ts'
import { mountSmallDisk, type SmallDisk } from './small-disk.ts'
import { runsOf } from './steps.ts'
import { BACKENDS, openWorld } from './world.ts'

const DISK_MB = 120
/** Applying a list of this size needs more space than the database files have free. */
const ROUTES = manyRoutes(20_000)
const FULL = /No space left on device/
/** The errors of the jobs that fail while the disk is full. */
const FAILURES = [FULL, /queue\.unavailable/, /sync\.failed/]

const disk = await mountSmallDisk(DISK_MB)

describe.runIf(disk !== undefined)('a full disk', () => {
  let postgres: ChaosPostgres
  let full: SmallDisk
  beforeAll(async () => {
    if (disk === undefined) throw new Error('there is no small disk')
    full = disk
    postgres = await startChaosPostgres()
    await postgres.createTablespace('small', full.folder)
  }, 60_000)
  afterAll(async () => {
    await postgres.close()
    await full.close()
  })

  it.for(BACKENDS)(
    // Fault: The disk is full.
    'fails a list without stopping the API, and the next list is applied, with the queue on %s',
    { timeout: 240_000 },
    async (backend) => {
      const name = `farewatch_full_test_${backend}`
      const databaseUrl = await postgres.createDatabase(name, { tablespace: 'small' })
      const world = await openWorld(backend, { databaseUrl })
      onTestFinished(() => world.close())
      const headers = bearer(await newKeyText(world.db))
      await addressesOf(world.start('worker', { ROUTE_SYNC_SCHEDULE: '*/5 * * * * *' }))
      const { api } = await addressesOf(world.start('api'))
      await eventually('the baseline', async () => (await runsOf(world))[0] === 'applied')

      await full.fill()
      world.upstream.serve(ROUTES)
      await eventually('a failure', () => FULL.test(world.output()), 40_000)
      const answer = await fetch(new URL('/api/v1/data/routes', api), { headers })
      const held = await livePairs(world.db)
      await full.free()

      expect(answer.status).toBe(200)
      expect(await answer.json()).toHaveLength(40)
      expect(held).toHaveLength(40)
      await eventually(
        'the list',
        async () => (await livePairs(world.db)).length === ROUTES.length,
        60_000,
      )
      expect(world.running()).toHaveLength(2)
      await expectInvariants(world, { failures: FAILURES, withinMs: 40_000 })
    },
  )
})
