import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SYNC_QUEUE } from '../../src/routes/sync.ts'
import { VERIFY_QUEUE } from '../../src/schedule/claim.ts'
import { addressesOf } from '../support/child-process.ts'
import { eventually } from './eventually.ts'
import { expectInvariants } from './invariants.ts'
import { checksOf, faresOf, watch } from './steps.ts'
import { BACKENDS, openWorld, type World } from './world.ts'

const LOAD = Array.from({ length: 200 }, (_, i) => String(5_000 + i))

describe.each(BACKENDS)(
  'jobs of running processes, with the queue on %s',
  { timeout: 40_000 },
  (backend) => {
    let world: World
    beforeAll(async () => {
      world = await openWorld(backend)
      world.upstream.sell([...LOAD, '601', '701', '801', '802'])
    })
    afterAll(() => world.close())

    // Fault: A process gets SIGTERM under load.
    it('a process that ends under load first reports that it is not ready, and another continues without a stalled job', async () => {
      const { upstream } = world
      await watch(world, LOAD)
      const first = world.start('worker')
      const { health } = await addressesOf(first)
      await eventually('load', () => upstream.requests.length > 20)
      // A process without a call in progress may have ended before it is asked.
      upstream.hold(LOAD)
      const { length } = upstream.requests
      await eventually('a call in progress', () => upstream.requests.length > length)
      const from = performance.now()

      first.child.kill('SIGTERM')
      const readiness = await eventually('the status not ready', async () => {
        const answer = await fetch(health).catch(() => undefined)
        return answer?.status === 503 && answer.json()
      })
      expect(readiness).toMatchObject({ status: 'not ready' })
      upstream.release()
      expect(await first.ended).toBe(0)
      expect(performance.now() - from).toBeLessThan(10_000)

      world.start('worker')
      await eventually('all checked', async () => (await checksOf(world, LOAD)) === LOAD.length)
      expect(new Set((await faresOf(world, LOAD)).map(({ checks }) => checks))).toEqual(
        new Set([1]),
      )
      expect(world.output()).not.toContain('job stalled')
      await expectInvariants(world)
    })

    // Fault: A job always throws, or fails with a NUL character in its message.
    it('jobs that always fail are dead after a few attempts and delay no other job', async () => {
      const { queue } = world
      await queue.enqueue(VERIFY_QUEUE, {
        payload: { claimId: 'not an id', fareIds: [1] },
        attempts: 2,
      })
      await queue.enqueue(SYNC_QUEUE, { payload: { list: 'no such list' }, attempts: 1 })
      await watch(world, ['701'])

      await eventually('another check', async () => (await checksOf(world, ['701'])) === 1)
      const dead = await eventually('both dead', async () => {
        const [checks, syncs] = [
          await queue.jobs(VERIFY_QUEUE, 'dead', 9),
          await queue.jobs(SYNC_QUEUE, 'dead', 9),
        ]
        return checks.length === 1 && syncs.length === 1 && [...checks, ...syncs]
      })

      expect(dead).toEqual([
        expect.objectContaining({
          attempts: 2,
          failure: expect.stringContaining('invalid input syntax'),
        }),
        expect.objectContaining({ attempts: 1, failure: expect.stringContaining('unknown list') }),
      ])
      await expectInvariants(world, { failures: [/invalid input syntax/, /unknown list/] })
      for (const job of dead) await queue.dropDead(job.name, job.id)
    })
  },
)
