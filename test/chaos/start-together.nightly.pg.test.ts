import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { addressesOf } from '../support/child-process.ts'
import { type ChaosPostgres, startChaosPostgres } from './chaos-postgres.ts'
import { eventually } from './eventually.ts'
import { expectInvariants } from './invariants.ts'
import { makeListDue, runsOf } from './steps.ts'
import { BACKENDS, openWorld } from './world.ts'

const PROCESSES = 10

describe('ten processes that start at once on an empty database', () => {
  let postgres: ChaosPostgres
  beforeAll(async () => {
    postgres = await startChaosPostgres()
  }, 60_000)
  afterAll(() => postgres.close())

  it.for(BACKENDS)(
    // Fault: Ten processes start at once.
    'migrate it once and fetch the list once for each due time, with the queue on %s',
    { timeout: 240_000 },
    async (backend) => {
      const name = `farewatch_together_test_${backend}`
      const databaseUrl = await postgres.createDatabase(name, { migrated: false })
      const world = await openWorld(backend, { databaseUrl })
      onTestFinished(() => world.close())

      const started = Array.from({ length: PROCESSES }, () => world.start('up'))
      await Promise.all(started.map((one) => addressesOf(one)))
      await eventually('the first list', async () => (await runsOf(world)).length > 0)
      await makeListDue(world)
      await eventually('the second list', async () => (await runsOf(world)).length > 1)
      await eventually('its result', async () => !(await runsOf(world)).includes(null))

      expect(world.running()).toHaveLength(PROCESSES)
      expect(await runsOf(world)).toEqual(['applied', 'unchanged'])
      await expectInvariants(world)
    },
  )
})
