import { afterAll, afterEach, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import { type Clock, systemClock } from '../../src/platform/base/clock.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { GUARD_LIMITS } from '../../src/routes/guard.ts'
import { listSyncRuns } from '../../src/routes/runs.ts'
import { type SyncListPayload, syncListJob } from '../../src/routes/sync.ts'
import { aQueue, createSystems, FAST_WORK, untilCounts } from '../platform/queue/queue-fixtures.ts'
import { describeStores } from '../platform/queue/queue-stores.ts'
import { silentLog } from '../support/silent-log.ts'
import { breakerOn, callThrough, passHealth, stateOf } from '../upstream/health-fixtures.ts'
import { type FaultFixture, prepareFaultFixture } from './fault-fixture.ts'

const MAX_PAUSE_MS = 900_000

// Fault: Asked to wait: a pause for all processes with a limited length; no fare and no attempt of a list is affected.
describeStores('a list whose sync must wait', (store) => {
  const systems = createSystems(store)
  let fixture: FaultFixture
  beforeAll(async () => {
    fixture = await prepareFaultFixture()
  })
  beforeEach(() => passHealth(fixture.db, MAX_PAUSE_MS))
  afterEach(systems.closeAll)
  afterAll(() => fixture.close())

  /** Starts the job of one due time, with one attempt, and its worker. */
  async function startDueTime(clock: Clock = systemClock) {
    const { db } = fixture
    const breaker = breakerOn(db)
    onTestFinished(() => breaker.close())
    const deps = {
      db,
      upstream: fixture.client({ breaker }).client,
      confirmations: 2,
      guard: GUARD_LIMITS,
      scrub: (text: string) => text,
      metrics: createMetrics(),
      log: silentLog,
      clock: systemClock,
      lastDueAt: () => new Date(0),
    }
    const system = systems.open({ clock })
    const queue = aQueue()
    const dueAt = new Date()
    await system.work<SyncListPayload>(
      queue,
      (payload, context) => syncListJob(deps, payload, context),
      FAST_WORK,
    )
    await system.enqueue(queue, { payload: { list: 'routes' }, attempts: 1 })
    const reasons = async () => {
      const runs = await listSyncRuns(db, { limit: 20 })
      return runs
        .filter(({ startedAt }) => startedAt >= dueAt)
        .map(({ reason, status }) => reason?.code ?? status)
    }
    return { system, queue, reasons }
  }

  // Fault: A list meets a 401.
  it('for a refused credential uses no attempt, opens the breaker, and is applied when a probe succeeds', async () => {
    const { db } = fixture
    fixture.setFaults({ name: 'status', endpoint: 'routes', code: 401 })
    const { system, queue, reasons } = await startDueTime()

    await untilCounts(system, queue, { delayed: 1 })
    const [waiting] = await system.jobs(queue, 'delayed', 1)
    const breaker = breakerOn(db)
    for (const _call of [1, 2]) await callThrough(breaker, 'unauthorized', 'lists')
    await breaker.close()
    expect((await stateOf(db, 'lists', 'auth')).open).not.toBeNull()
    fixture.clearFaults()
    await passHealth(db, 5_000)
    await untilCounts(system, queue, { completed: 1, failed: 0 })

    expect(waiting).toMatchObject({ attempts: 0 })
    expect((await reasons()).at(-1)).toBe('upstream.auth')
    expect((await stateOf(db, 'lists', 'auth')).open).toBeNull()
  })

  it('for longer than allowed fails for that reason, and its job is dead', async () => {
    fixture.setFaults({
      name: 'rate-limited',
      endpoint: 'routes',
      retryAfter: 'seconds',
      seconds: 1,
    })
    const later = { ...systemClock, now: () => new Date(Date.now() + 7 * 3_600_000) }
    const { system, queue } = await startDueTime(later)

    await untilCounts(system, queue, { failed: 1 })

    const [dead] = await system.jobs(queue, 'dead', 1)
    expect(dead?.failure).toMatch(/^sync\.failed: run \d+ of routes failed: .*asked us to wait/)
  })
})
