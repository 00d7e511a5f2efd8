import { describe, expect, onTestFinished } from 'vitest'
import { createOnDemand, findCachedObservation, type OnDemandDeps } from '../../src/fares/verify.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import type { Db } from '../../src/platform/db/database.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import type { Observation } from '../../src/upstream/observation.ts'
import { gone as GONE, observation, RULES } from '../fares/fare-fixtures.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { question } from '../upstream/verify-fixtures.ts'
import { gone, ONE_ADULT, startFixture } from './verify-fixture.ts'

const ASKED = `flightId=1234&${ONE_ADULT}`
const UNAVAILABLE = { kind: 'known', body: '{"1234":{"available":false}}' }

type VerifyFares = OnDemandDeps['upstream']['verifyFares']

/** The on-demand checks of one API process. */
function startProcess(db: Db, verifyFares: VerifyFares, metrics = createMetrics()) {
  const onDemand = createOnDemand({
    db,
    upstream: { verifyFares },
    clock: systemClock,
    rules: { ...RULES, requestsPerSecond: 1_000 },
    metrics,
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

describe('equal questions that overlap in one process', () => {
  it('twenty equal requests make one upstream call and get the same body', async ({ db }) => {
    const { state, verifyFares, answer } = heldUpstream()
    const onDemand = startProcess(db, verifyFares)

    const results = Array.from({ length: 20 }, () => onDemand.verify(question(), 'ana'))
    answer(observation(GONE))

    expect(await Promise.all(results)).toEqual(Array.from({ length: 20 }, () => UNAVAILABLE))
    expect(state.calls).toBe(1)
  })

  it('questions that differ in one passenger make two calls', async ({ db }) => {
    const { state, verifyFares, answer } = heldUpstream()
    const onDemand = startProcess(db, verifyFares)
    const { passengers } = question()
    const withChild = { ...passengers, residents: { ...passengers.residents, children: 1 } }

    const results = [
      onDemand.verify(question(), 'ana'),
      onDemand.verify(question({ passengers: withChild }), 'ana'),
    ]
    answer(observation(GONE))

    expect(await Promise.all(results)).toEqual([UNAVAILABLE, UNAVAILABLE])
    expect(state.calls).toBe(2)
  })
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

describe('a caller that disconnects', () => {
  it('a caller that disconnects does not end the call for another caller', async ({ db }) => {
    const released = Promise.withResolvers<void>()
    const { get, asked } = await startFixture(db, (request, response) => {
      void released.promise.then(() => gone('1234')(request, response))
    })
    const leaving = new AbortController()
    const left = get(ASKED, undefined, leaving.signal).catch(() => 'left')
    await until('the call', () => asked.length === 1)
    const staying = get(ASKED)

    leaving.abort()
    expect(await left).toBe('left')
    released.resolve()

    expect(await staying).toMatchObject({ status: 200, text: '{"1234":{"available":false}}' })
  })
})
