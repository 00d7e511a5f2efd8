import { afterAll, afterEach, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createMetrics } from '../../src/metrics/metrics.ts'
import type { WorkOptions } from '../../src/queue/queue-system.ts'
import { GUARD_LIMITS } from '../../src/route-sync/plan/guard.ts'
import { listSyncRuns } from '../../src/route-sync/runs/sync-run-queries.ts'
import { type SyncListPayload, syncListJob } from '../../src/route-sync/sync-list-job.ts'
import { aQueue, createSystems, FAST_WORK, untilCounts } from '../queue/queue-fixtures.ts'
import { describeStores } from '../queue/queue-stores.ts'
import { silentLog } from '../support/silent-log.ts'
import { until } from '../support/until.ts'
import { breakerOn, callThrough, passHealth, stateOf } from '../upstream/health-fixtures.ts'
import { type FaultGround, prepareFaultGround } from './fault-ground.ts'

const MAX_PAUSE_MS = 900_000

describeStores('a list that is told to wait', (store) => {
  const systems = createSystems(store)
  let ground: FaultGround
  beforeAll(async () => {
    ground = await prepareFaultGround()
  })
  beforeEach(() => passHealth(ground.db, MAX_PAUSE_MS))
  afterEach(systems.closeAll)
  afterAll(() => ground.close())

  /** The job of one slot that may be tried once, and the worker that does it. */
  async function startSlot(options: WorkOptions = FAST_WORK) {
    const { db } = ground
    const breaker = breakerOn(db)
    onTestFinished(() => breaker.close())
    const deps = {
      db,
      upstream: ground.client({ breaker }).client,
      confirmations: 2,
      guard: GUARD_LIMITS,
      scrub: (text: string) => text,
      metrics: createMetrics(),
      log: silentLog,
      clock: systemClock,
      hasLaterDueTime: () => Promise.resolve(false),
    }
    const system = systems.open()
    const queue = aQueue()
    const dueAt = new Date().toISOString()
    await system.work<SyncListPayload>(
      queue,
      (payload, { signal }) => syncListJob(deps, payload, signal),
      options,
    )
    await system.enqueue(queue, { payload: { list: 'routes', dueAt }, attempts: 1 })
    const reasons = async () => {
      const runs = await listSyncRuns(db, { limit: 20 })
      return runs
        .filter(({ startedAt }) => startedAt >= new Date(dueAt))
        .map(({ reason, status }) => reason?.code ?? status)
    }
    return { system, queue, reasons }
  }

  it('by a 429 burns no attempt, however often, and is applied when it may be asked again', async () => {
    ground.spoil({ name: 'rate-limited', endpoint: 'routes', retryAfter: 'seconds', seconds: 1 })
    const { system, queue, reasons } = await startSlot()

    const answered429 = async () =>
      (await reasons()).filter((code) => code === 'upstream.rate_limited').length
    await until('it was told to wait twice', async () => (await answered429()) >= 2)
    ground.honest()
    await untilCounts(system, queue, { completed: 1, failed: 0 })

    const [last, ...before] = await reasons()
    expect(['applied', 'unchanged']).toContain(last)
    for (const code of before) {
      expect(['upstream.rate_limited', 'upstream.circuit_open']).toContain(code)
    }
  })

  it('by a breaker burns no attempt, and waits for the probe', async () => {
    const { db } = ground
    const breaker = breakerOn(db)
    for (const _call of [1, 2, 3]) await callThrough(breaker, 'serverError', 'lists')
    await breaker.close()
    expect((await stateOf(db, 'lists', 'errors')).open).not.toBeNull()
    // Of the five seconds until the probe.
    await passHealth(db, 3_500)

    const { system, queue, reasons } = await startSlot()
    await untilCounts(system, queue, { delayed: 1 })
    const [waiting] = await system.jobs(queue, 'delayed', 1)
    await untilCounts(system, queue, { completed: 1, failed: 0 })

    expect(waiting).toMatchObject({ attempts: 0 })
    expect((await reasons()).at(-1)).toBe('upstream.circuit_open')
    expect((await stateOf(db, 'lists', 'errors')).open).toBeNull()
  })

  it('for longer than it can wait fails for that reason, and is dead', async () => {
    ground.spoil({ name: 'rate-limited', endpoint: 'routes', retryAfter: 'seconds', seconds: 1 })
    const { system, queue } = await startSlot({ ...FAST_WORK, snoozeForMs: 0 })

    await untilCounts(system, queue, { failed: 1 })

    const [dead] = await system.jobs(queue, 'dead', 1)
    expect(dead?.failure).toMatch(/^sync\.failed: run \d+ of routes failed: .*asked us to wait/)
  })
})
