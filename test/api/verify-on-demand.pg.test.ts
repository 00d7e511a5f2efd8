import { expect, onTestFinished } from 'vitest'
import { createOnDemand, findCachedObservation, type OnDemandDeps } from '../../src/fares/verify.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import type { Observation } from '../../src/upstream/observation.ts'
import { gone as GONE, observation, RULES, trackFare } from '../fares/fare-fixtures.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { question } from '../upstream/verify-fixtures.ts'
import { gone, ONE_ADULT, startFixture } from './verify-fixture.ts'

const ASKED = `flightId=1234&${ONE_ADULT}`
const UNAVAILABLE = { kind: 'known', body: '{"1234":{"available":false}}' }

type VerifyFares = OnDemandDeps['upstream']['verifyFares']

/** The on-demand checks of one API process. */
function startProcess(db: Db, verifyFares: VerifyFares) {
  const onDemand = createOnDemand({
    db,
    upstream: { verifyFares },
    clock: systemClock,
    rules: { ...RULES, requestsPerSecond: 1_000 },
    metrics: createMetrics(),
    log: silentLog,
  })
  onTestFinished(() => onDemand.close())
  return onDemand
}

/** An upstream that answers when the test releases it. */
function heldUpstream() {
  const { promise, resolve: answer, reject: fail } = Promise.withResolvers<Observation>()
  promise.catch(() => undefined)
  const state = { calls: 0 }
  const verifyFares: VerifyFares = () => {
    state.calls += 1
    return promise
  }
  return { state, verifyFares, answer, fail }
}

it('equal questions that overlap make a call each: maxAge is for those that need none', async ({
  db,
}) => {
  const { state, verifyFares, answer } = heldUpstream()
  const onDemand = startProcess(db, verifyFares)

  const results = [onDemand.verify(question(), 'ana'), onDemand.verify(question(), 'bob')]
  answer(observation(GONE))

  expect(await Promise.all(results)).toEqual([UNAVAILABLE, UNAVAILABLE])
  expect(state.calls).toBe(2)
})

it('a call that fails with a bug fails its caller, and the next one makes a new call', async ({
  db,
}) => {
  const { verifyFares, fail } = heldUpstream()
  const calls = [verifyFares, async () => observation(GONE)]
  const onDemand = startProcess(db, (...args) => (calls.shift() ?? verifyFares)(...args))
  const result = onDemand.verify(question(), 'ana')

  fail(new Error('a bug'))

  await expect(result).rejects.toThrow('a bug')
  expect(await onDemand.verify(question(), 'ana')).toEqual(UNAVAILABLE)
})

it('a process that stops answers its callers that it is stopping', async ({ db }) => {
  const called = Promise.withResolvers<void>()
  const onDemand = startProcess(db, (_question, { signal }) => {
    called.resolve()
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  })
  const results = [onDemand.verify(question(), 'ana'), onDemand.verify(question(), 'ana')]
  await called.promise

  await onDemand.close()

  expect(await Promise.all(results)).toEqual([
    { kind: 'unknown', reason: 'stopping', retryAfterMs: 5_000 },
    { kind: 'unknown', reason: 'stopping', retryAfterMs: 5_000 },
  ])
})

it.for([
  ['over ten minutes is unknown', 601, { kind: 'unknown', reason: 'aged' }, false],
  ['less is kept as of then', 300, UNAVAILABLE, true],
] as const)('an answer with an Age of %s', async ([_, ageSeconds, result, isKept], { db }) => {
  const onDemand = startProcess(db, async () => ({ ...observation(GONE), ageSeconds }))

  expect(await onDemand.verify(question(), 'ana')).toMatchObject(result)

  expect(await findCachedObservation(db, question(), 60)).toBeUndefined()
  expect((await findCachedObservation(db, question(), 600)) !== undefined).toBe(isKept)
})

it('the tracked fare records a check whose caller has disconnected', async ({ db }) => {
  const fareId = await trackFare(db, { flightId: '1234' })
  const released = Promise.withResolvers<void>()
  const { get, asked } = await startFixture(db, (request, response) => {
    void released.promise.then(() => gone('1234')(request, response))
  })
  const leaving = new AbortController()
  const left = get(ASKED, undefined, leaving.signal).catch(() => 'left')
  await until('the call', () => asked.length === 1)

  leaving.abort()
  expect(await left).toBe('left')
  released.resolve()

  await until('its observation', async () => {
    const { rows } = await sql<{ id: number }>`
      select tracked_fare_id as id from fare_state where checks = 1
    `.execute(db)
    return rows[0]?.id === fareId
  })
})
