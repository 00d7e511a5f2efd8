import fc from 'fast-check'
import { describe, it } from 'vitest'
import { listAllSchedulers } from '../../src/app/periodic.ts'
import { lastDueAt, nextDueAt } from '../../src/platform/base/cron.ts'
import { sql } from '../../src/platform/db/database.ts'
import { databaseNow } from '../../src/platform/db/transaction.ts'
import { manyRoutes } from '../routes/sync-fixtures.ts'
import { eventually } from './eventually.ts'
import { expectInvariants } from './invariants.ts'
import { addressesOf, kill } from './steps.ts'
import { BACKENDS, openWorld, type World } from './world.ts'

const TIMES = { pattern: '*/5 * * * * *', zone: 'UTC' }
const KILLS = 10
/** A sync of so many routes takes most of a second: a kill at any moment after its due time meets one of its steps. */
const ROUTES = manyRoutes(20_000)
const SYNC_MS = 1_500
const SEED = Number(process.env.SEED ?? Date.now())

describe('workers that are killed while the lists are synced', { concurrent: true }, () => {
  it.for(BACKENDS)(
    'lose no due time and do none twice, with the queue on %s',
    { timeout: 400_000 },
    async (backend, { expect, onTestFinished }) => {
      const world = await openWorld(backend, { routes: ROUTES })
      onTestFinished(() => world.close())
      const delaysMs = fc.sample(fc.nat(SYNC_MS), { numRuns: KILLS, seed: SEED })
      const settings = { ROUTE_SYNC_SCHEDULE: TIMES.pattern }

      for (const delayMs of delaysMs) {
        const worker = world.start('worker', settings)
        await addressesOf(worker)
        const dueAt = nextDueAt(TIMES, await databaseNow(world.db))
        await eventually('the moment of the kill', async () => {
          return (await databaseNow(world.db)).getTime() >= dueAt.getTime() + delayMs
        })
        await kill(world, worker)
      }
      await addressesOf(world.start('worker', settings))

      const from = await databaseNow(world.db)
      await eventually('three due times in a row', async () => {
        return (await dueTimesDone(world, from)).length >= 3
      })
      const done = await dueTimesDone(world, new Date(0))
      expect(done, `seed ${SEED}`).toEqual([...new Set(done)])
      expect(await lateSchedulers(world), `seed ${SEED}`).toEqual([])
      await expectInvariants(world)
    },
  )
})

/** The due time of each run that got a list, in order. */
async function dueTimesDone({ db }: World, from: Date): Promise<number[]> {
  const { rows } = await sql<{ startedAt: Date }>`
    select started_at as "startedAt" from sync_run
     where list = 'routes' and status in ('applied', 'unchanged') and started_at >= ${from}
     order by started_at
  `.execute(db)
  return rows.map(({ startedAt }) => lastDueAt(TIMES, startedAt).getTime())
}

/** The job schedulers whose next due time has passed for longer than a lost lock takes to be found. */
async function lateSchedulers({ db, queue }: World): Promise<string[]> {
  const now = await databaseNow(db)
  const late = (await listAllSchedulers(queue)).filter(({ nextDueAt: due }) => {
    return now.getTime() - due.getTime() > 90_000
  })
  return late.map(({ name }) => name)
}
