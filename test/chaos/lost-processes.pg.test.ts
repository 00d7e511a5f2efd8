import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { livePairs } from '../routes/sync-fixtures.ts'
import { expectInvariants } from './invariants.ts'
import { AFTER, BEFORE, loseProcesses, type Outcome } from './lost-processes.ts'
import { bookable, faresOf, runsOf } from './steps.ts'
import { BACKENDS, type Backend, openWorld, type World } from './world.ts'

/** A lock lasts 30 s, and two more 15 s stall checks pass until another worker gets the job; the rest is for a machine that does other work. */
const LOCK_AND_STALL_MS = 150_000

const notBookable = (flightId: string) => ({
  flightId,
  pair: 'not_bookable',
  checks: 2,
  kinds: ['first_seen'],
  // Each reseller gets `watch_started` with the second answer, which confirms the first.
  feedRecords: 2,
})

describe('processes that are killed or stopped', () => {
  const worlds: World[] = []
  const outcomes = new Map<Backend, Outcome>()
  // The backends run together because each waits for locks to expire.
  beforeAll(async () => {
    worlds.push(...(await Promise.all(BACKENDS.map((b) => openWorld(b, { routes: BEFORE })))))
    await Promise.all(
      worlds.map(async (world) => outcomes.set(world.backend, await loseProcesses(world))),
    )
  }, 300_000)
  afterAll(async () => {
    for (const world of worlds) await world.close()
  })

  describe.each(BACKENDS)('with the queue on %s', (backend) => {
    const get = () => {
      const world = worlds.find((one) => one.backend === backend)
      const outcome = outcomes.get(backend)
      if (world === undefined || outcome === undefined)
        throw new Error('the processes were not started')
      return { world, outcome }
    }

    // Fault: A process is killed during a batch of checks.
    it('a batch whose process is killed is taken over by another, and each answer counts once', async () => {
      const { world, outcome } = get()
      expect(outcome.batchTakenMs).toBeLessThan(LOCK_AND_STALL_MS)
      expect(await faresOf(world, ['101', '102', '103'])).toEqual([
        notBookable('101'),
        bookable('102'),
        bookable('103'),
      ])
    })

    it('a list whose process is killed leaves nothing behind, and the next run applies it whole', async () => {
      const { world, outcome } = get()
      expect(outcome.afterSyncKill).toEqual({ live: 40, runs: ['applied', null] })
      expect(outcome.listTakenMs).toBeLessThan(LOCK_AND_STALL_MS)
      expect(await runsOf(world)).toEqual(['applied', 'failed', 'applied'])
      expect(new Set(await livePairs(world.db))).toEqual(
        new Set(AFTER.map((r) => `${r.departure.id}-${r.destination.id}`)),
      )
    })

    // Fault: A process is killed between the commit and the end of its job.
    it('a job whose process is killed after the commit runs again and changes nothing', async () => {
      const { world, outcome } = get()
      expect(outcome.committedBeforeKill).toBe(2)
      expect(await faresOf(world, ['301', '302'])).toEqual([bookable('301'), bookable('302')])
    })

    // Fault: A process is stopped for two lock times and continued.
    it('a process that is stopped for two lock times and continued drops its late answer', async () => {
      const { world, outcome } = get()
      expect(outcome.stoppedMs).toBeGreaterThan(60_000)
      expect(await faresOf(world, ['401'])).toEqual([bookable('401', 2)])
    })

    it('the invariants hold after all of them', async () => {
      await expectInvariants(get().world)
    })
  })
})
