import { describe, expect } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { selectOne } from '../../src/platform/db/transaction.ts'
import { it } from '../support/test-database.ts'
import { breakerEvents, countsBy, mostProbes, worstExcess } from './outage-log.ts'
import { deadJobs, FULL_LOAD_MS, type OutageRun, runOutage } from './outage-run.ts'

const SECONDS = Number(process.env.OUTAGE_SECONDS ?? 40)
const REQUESTS_PER_SECOND = 50
const QUESTIONS = 200
/** The breaker state that a worker reads may be 500 ms old, and an admitted call may still be running. */
const UNDER_WAY_MS = 1_500
/** A slot may be used a second late, and a call may take another until the sandbox has read it on a busy machine. */
const LATE_SECONDS = 2
/** Three failures open the breaker of the lists, and each call is tried twice. */
const LIST_CALLS = 3 * 2

const timesOf = (run: OutageRun, of: (endpoint: string) => boolean) =>
  run.requests.filter(({ endpoint }) => of(endpoint)).map(({ realMs }) => realMs)
const isVerify = (endpoint: string) => endpoint === 'verify'

/** When the breaker of verify opened in the outage, and when it closed for good. */
function breakerTimes({ workerLogs, beganMs, endedMs }: OutageRun) {
  const events = breakerEvents(workerLogs).filter(
    ({ endpoint, breaker }) => endpoint === 'verify' && breaker === 'errors',
  )
  expect(events.map(({ opened }) => opened)).toEqual([true, false])
  const [openedMs = 0, closedMs = 0] = events.map(({ atMs }) => atMs)
  expect(openedMs).toBeGreaterThan(beganMs)
  expect(openedMs).toBeLessThan(endedMs)
  expect(closedMs).toBeGreaterThan(endedMs)
  return { openedMs, closedMs }
}

function report(run: OutageRun, { openedMs, closedMs }: { openedMs: number; closedMs: number }) {
  const { beganMs, endedMs, checkedMs } = run
  const seconds = (ms: number) => (ms / 1000).toFixed(1)
  const times = timesOf(run, isVerify)
  const between = (from: number, to: number) => times.filter((t) => t >= from && t < to).length
  const ramp = countsBy(times, { fromMs: closedMs, toMs: closedMs + 75_000, seconds: 5 })
  process.stdout.write(
    [
      `outage of ${SECONDS} s at ${REQUESTS_PER_SECOND} requests a second, ${QUESTIONS} fares, two workers`,
      `before: ${between(beganMs - FULL_LOAD_MS, beganMs)} calls in ${seconds(FULL_LOAD_MS)} s`,
      `breaker open after ${seconds(openedMs - beganMs)} s and ${between(beganMs, openedMs)} calls`,
      `open: ${between(openedMs, openedMs + UNDER_WAY_MS)} calls under way, then ${between(openedMs + UNDER_WAY_MS, endedMs)}`,
      `recovery: closed ${seconds(closedMs - endedMs)} s after the end, all fares checked after ${seconds(checkedMs - endedMs)} s`,
      `calls in each 5 s after it closed: ${ramp.join(' ')}\n`,
    ].join('\n  '),
  )
}

function expectProbesOnly(run: OutageRun, openedMs: number): void {
  const { beganMs, endedMs } = run
  const isOpen = (time: number) => time > openedMs + UNDER_WAY_MS && time < endedMs
  const probes = timesOf(run, isVerify).filter(isOpen)
  const bySecond = countsBy(probes, { fromMs: openedMs, toMs: endedMs, seconds: 1 })
  expect(Math.max(...bySecond)).toBeLessThanOrEqual(1)
  expect(probes.length).toBeLessThanOrEqual(mostProbes((endedMs - openedMs) / 1000))
  const lists = timesOf(run, (endpoint) => !isVerify(endpoint))
  const ofOutage = lists.filter((time) => time > beganMs && time < endedMs)
  expect(ofOutage.length).toBeLessThanOrEqual(LIST_CALLS + mostProbes(SECONDS))
}

/** Expects that the rate grows from a tenth to the full rate within a minute, so that the recovered upstream is not overloaded. */
function expectRamp(run: OutageRun, closedMs: number): void {
  const returned = timesOf(run, isVerify).filter((time) => time >= closedMs)
  const rateAt = (ms: number) =>
    REQUESTS_PER_SECOND * Math.min(1, Math.max(0.1, (ms - closedMs) / 60_000))
  for (const seconds of [1, 5, 10]) {
    const share = (endMs: number) => rateAt(endMs) * (seconds + LATE_SECONDS) + 1
    expect(worstExcess(returned, seconds, share)).toBeLessThanOrEqual(0)
  }
  const times = timesOf(run, () => true)
  for (const seconds of [1, 5, 20, 60]) {
    const most = REQUESTS_PER_SECOND * (seconds + LATE_SECONDS) + 1
    expect(worstExcess(times, seconds, () => most)).toBeLessThanOrEqual(0)
  }
}

describe('an outage of the upstream', () => {
  it('changes no belief and loses nothing; the workers only probe during it and slowly return to the full rate', {
    timeout: 1_500_000,
  }, async ({ db, databaseUrl }) => {
    const run = await runOutage({
      db,
      databaseUrl,
      seconds: SECONDS,
      questions: QUESTIONS,
      requestsPerSecond: REQUESTS_PER_SECOND,
    })
    const breaker = breakerTimes(run)
    report(run, breaker)

    const [before, atEnd, after] = run.facts
    expect(atEnd).toEqual(before)
    expect(after).toEqual(before)
    expectProbesOnly(run, breaker.openedMs)
    expectRamp(run, breaker.closedMs)

    const left = await selectOne(
      sql`
        select (select count(*) from tracked_fare) as fares, (select count(*) from fare_schedule) as schedules,
               (select count(*) from fare_schedule where claim_id is not null) as claims,
               (select count(*) from incident where closed_at is null) as incidents,
               (select count(*) from upstream_breaker where breakers @? '$.*.*.open ? (@ != null)') as breakers
      `,
      db,
    )
    expect(left).toEqual({
      fares: QUESTIONS,
      schedules: QUESTIONS,
      claims: 0,
      incidents: 0,
      breakers: 0,
    })
    expect(await deadJobs(databaseUrl)).toEqual({ verify: 0, 'route-sync': 0 })
    expect(run.exits).toEqual([0, 0])
  })
})
