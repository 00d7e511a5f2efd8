import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { livePairs } from '../route-sync/sync-fixtures.ts'
import { expectInvariants } from './invariants.ts'
import { AFTER, BEFORE, type Outcome, playLostProcesses } from './lost-processes.ts'
import { faresOf, runsOf, sold } from './steps.ts'
import { BACKENDS, type Backend, openWorld, type World } from './world.ts'

/** A lock lasts thirty seconds; by two looks more its job is given to another; the rest is a margin for the tick. */
const LOCK_AND_STALL_MS = 70_000

const gone = (flightId: string) => ({
  flightId,
  pair: 'not_bookable',
  checks: 2,
  kinds: ['legs_changed'],
  told: 2,
})

describe('processes that are lost', () => {
  const worlds: World[] = []
  const outcomes = new Map<Backend, Outcome>()
  // All backends wait out their locks at the same time.
  beforeAll(async () => {
    worlds.push(...(await Promise.all(BACKENDS.map((b) => openWorld(b, { routes: BEFORE })))))
    await Promise.all(
      worlds.map(async (world) => outcomes.set(world.backend, await playLostProcesses(world))),
    )
  }, 150_000)
  afterAll(async () => {
    for (const world of worlds) await world.close()
  })

  describe.each(BACKENDS)('on %s', (backend) => {
    const get = () => {
      const world = worlds.find((one) => one.backend === backend)
      const outcome = outcomes.get(backend)
      if (world === undefined || outcome === undefined) throw new Error('nothing was played')
      return { world, outcome }
    }

    it('killed in the middle of a batch: another takes it in time, each answer counts once', async () => {
      const { world, outcome } = get()
      expect(outcome.batchTakenMs).toBeLessThan(LOCK_AND_STALL_MS)
      expect(await faresOf(world, ['101', '102', '103'])).toEqual([
        gone('101'),
        sold('102'),
        sold('103'),
      ])
    })

    it('killed while a list is applied: nothing of it is there, and the next run applies it whole', async () => {
      const { world, outcome } = get()
      expect(outcome.afterSyncKill).toEqual({ live: 40, runs: ['applied', null] })
      expect(outcome.listTakenMs).toBeLessThan(LOCK_AND_STALL_MS)
      expect(await runsOf(world)).toEqual(['applied', 'failed', 'applied'])
      expect(new Set(await livePairs(world.db))).toEqual(
        new Set(AFTER.map((r) => `${r.departure.id}-${r.destination.id}`)),
      )
    })

    it('killed after the commit: the job runs again and changes nothing', async () => {
      const { world, outcome } = get()
      expect(outcome.committedBeforeKill).toBe(2)
      expect(await faresOf(world, ['301', '302'])).toEqual([sold('301'), sold('302')])
    })

    it('stopped for two lock times and continued: the late answer is dropped', async () => {
      const { world, outcome } = get()
      expect(outcome.stoppedMs).toBeGreaterThan(60_000)
      expect(outcome.lateMetrics).toContain('farewatch_checks_dropped_total{reason="superseded"} 1')
      expect(await faresOf(world, ['401'])).toEqual([sold('401', 2)])
    })

    it('leave nothing behind', async () => {
      await expectInvariants(get().world)
    })
  })
})
