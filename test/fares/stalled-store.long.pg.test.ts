import { expect, onTestFinished } from 'vitest'
import { type VerifyFaresPayload, verifyFaresJob } from '../../src/fares/check.ts'
import { createSlotQueue, verifyOnDemand } from '../../src/fares/verify.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { openDatabase } from '../../src/platform/db/database.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { dispatchChecks } from '../../src/schedule/claim.ts'
import { takeSlot, tryTakeSlot } from '../../src/upstream/budget/take-slot.ts'
import { silentLog } from '../support/silent-log.ts'
import { createTcpProxy } from '../support/tcp-proxy.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { answering } from '../upstream/answering-server.ts'
import { clientOf } from '../upstream/client-fixture.ts'
import { breakerOn } from '../upstream/health-fixtures.ts'
import { question } from '../upstream/verify-fixtures.ts'
import { RULES, trackFare } from './fare-fixtures.ts'

const { signal } = new AbortController()
const REQUESTS_PER_SECOND = 5
const STALL_MS = 4_000
const WATCHED_MS = 12_000

/** An upstream that records when it receives which question. */
async function recordingUpstream() {
  const times: number[] = []
  const server = await answering((request, response) => {
    times.push(performance.now())
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost')
    const id = searchParams.get('flightId')
    // One question in seven gets an error, and a quick retry.
    const fails = id !== null && times.length % 7 === 0
    response.writeHead(fails ? 502 : 200, { 'content-type': 'application/json' })
    response.end(pathname.endsWith('/verify') ? `{"${id}":{"available":false}}` : '[]')
  })
  onTestFinished(() => server[Symbol.asyncDispose]())
  return { url: server.url, times }
}

/** The parts of one process, whose connections to the database go through the proxy. */
async function processBehind(databaseUrl: string, upstreamUrl: string) {
  const { hostname, port } = new URL(databaseUrl)
  const door = await createTcpProxy({ host: hostname, port: Number(port) })
  onTestFinished(() => door.close())
  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String(door.port)
  const database = openDatabase({ url: url.href, applicationName: 'stalled', log: silentLog })
  onTestFinished(() => database.close())
  const { db } = database
  const breaker = breakerOn(db)
  const request = { requestsPerSecond: REQUESTS_PER_SECOND, clock: systemClock }
  const { client, pull } = clientOf(upstreamUrl, {
    breaker,
    beforeList: (during) => takeSlot(db, { ...request, lane: false, signal: during }),
    retrySlot: (during) =>
      tryTakeSlot(db, { ...request, lane: true, withinMs: 1_000, signal: during }),
  })
  onTestFinished(async () => {
    await client.close()
    await breaker.close()
  })
  const rules = { ...RULES, requestsPerSecond: REQUESTS_PER_SECOND, minRecheckSeconds: 1 }
  const metrics = createMetrics()
  const deps = { db, upstream: client, breaker, clock: systemClock, rules, metrics, log: silentLog }
  const queue = createSlotQueue({ ...request, db, timeoutMs: 20_000 })
  const takeOnDemandSlot = (ending: AbortSignal) => queue('ana', ending)
  return { door, deps: { ...deps, takeSlot: takeOnDemandSlot }, pull }
}

/** The most requests that any window of so many seconds saw. */
function mostWithin(times: readonly number[], seconds: number): number {
  return Math.max(
    ...times.map((from, i) => times.slice(i).filter((at) => at - from <= seconds * 1000).length),
  )
}

it('the budget is kept when the database does not answer for four seconds between slots and calls', {
  timeout: 90_000,
}, async ({ db, databaseUrl }) => {
  const { url, times } = await recordingUpstream()
  const { door, deps, pull } = await processBehind(databaseUrl, url)
  for (let i = 0; i < 60; i += 1) await trackFare(db, { flightId: `10${i}` })
  const jobs: Promise<unknown>[] = []
  const queue = {
    enqueue: async (_name: string, { payload }: { payload: object }) => {
      jobs.push(verifyFaresJob(deps, payload as VerifyFaresPayload, signal))
    },
  }
  const startMs = performance.now()
  const at = (ms: number) => until('its time', () => performance.now() - startMs >= ms)
  // Another process, whose connections are not interrupted, dispatches the checks.
  const dispatching = (async () => {
    for (let ms = 0; ms < WATCHED_MS; ms += 1_000) {
      await at(ms)
      await dispatchChecks({ db, queue, ...deps.rules })
    }
  })()

  await at(1_900)
  for (let i = 0; i < 8; i += 1) {
    jobs.push(verifyOnDemand(deps, question({ flightId: `20${i}` }), signal))
  }
  jobs.push(pull(), pull('with-availability'))
  await at(2_000)
  door.stall()
  await at(2_000 + STALL_MS)
  door.resume()
  await dispatching
  await Promise.all(jobs)

  for (const seconds of [0.1, 1, 2, 5]) {
    expect(mostWithin(times, seconds)).toBeLessThanOrEqual(REQUESTS_PER_SECOND * (seconds + 1) + 1)
  }
  const after = times.filter((time) => time - startMs > 2_000 + STALL_MS)
  expect(after.length).toBeGreaterThan(REQUESTS_PER_SECOND * 3)
})
