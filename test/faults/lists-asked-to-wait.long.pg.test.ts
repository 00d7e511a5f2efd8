import { afterAll, afterEach, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import { type Clock, systemClock } from '../../src/platform/base/clock.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { GUARD_LIMITS } from '../../src/routes/guard.ts'
import { listSyncRuns } from '../../src/routes/runs.ts'
import { type SyncListPayload, syncListJob } from '../../src/routes/sync.ts'
import { aQueue, createSystems, FAST_WORK, untilCounts } from '../platform/queue/queue-fixtures.ts'
import { describeStores } from '../platform/queue/queue-stores.ts'
import { silentLog } from '../support/silent-log.ts'
import { until } from '../support/until.ts'
import { breakerOn, callThrough, passHealth, stateOf } from '../upstream/health-fixtures.ts'
import { type FaultFixture, prepareFaultFixture } from './fault-fixture.ts'

const MAX_PAUSE_MS = 900_000

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

  it('for a 429 uses no attempt, even repeatedly, and is applied after the wait', async () => {
    fixture.setFaults({
      name: 'rate-limited',
      endpoint: 'routes',
      retryAfter: 'seconds',
      seconds: 1,
    })
    const { system, queue, reasons } = await startDueTime()

    const answered429 = async () =>
      (await reasons()).filter((code) => code === 'upstream.rate_limited').length
    await until('two answers of 429', async () => (await answered429()) >= 2)
    fixture.clearFaults()
    await untilCounts(system, queue, { completed: 1, failed: 0 })

    const [last, ...before] = await reasons()
    expect(['applied', 'unchanged']).toContain(last)
    // A busy machine can lose the lock of a job. Its run then counts as interrupted, and the job runs again.
    const allowed = ['upstream.rate_limited', 'upstream.circuit_open', 'interrupted']
    for (const code of before) {
      expect(allowed).toContain(code)
    }
  })

  it('for an open breaker uses no attempt, and waits for the probe', async () => {
    const { db } = fixture
    const breaker = breakerOn(db)
    for (const _call of [1, 2, 3]) await callThrough(breaker, 'serverError', 'lists')
    await breaker.close()
    expect((await stateOf(db, 'lists', 'errors')).open).not.toBeNull()
    // The probe is due five seconds after the opening.
    await passHealth(db, 3_500)

    const { system, queue, reasons } = await startDueTime()
    await untilCounts(system, queue, { delayed: 1 })
    const [waiting] = await system.jobs(queue, 'delayed', 1)
    await untilCounts(system, queue, { completed: 1, failed: 0 })

    expect(waiting).toMatchObject({ attempts: 0 })
    expect((await reasons()).at(-1)).toBe('upstream.circuit_open')
    expect((await stateOf(db, 'lists', 'errors')).open).toBeNull()
  })

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
