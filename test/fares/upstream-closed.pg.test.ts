import { describe, expect, onTestFinished } from 'vitest'
import {
  type VerifyFaresPayload,
  type VerifyJobDeps,
  verifyFaresJob,
} from '../../src/fares/check.ts'
import { verifyOnDemand } from '../../src/fares/verify.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { dispatchChecks } from '../../src/schedule/claim.ts'
import { countHints } from '../support/hints.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { type Answer, answering } from '../upstream/answering-server.ts'
import { clientOf } from '../upstream/client-fixture.ts'
import { breakerOn, permitOf } from '../upstream/health-fixtures.ts'
import { question } from '../upstream/verify-fixtures.ts'
import { RULES, trackFare } from './fare-fixtures.ts'

const { signal } = new AbortController()
const REQUESTS_PER_SECOND = 1_000

const gone: Answer = (request, response) => {
  const id = new URL(request.url ?? '', 'http://localhost').searchParams.get('flightId') ?? ''
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ [id]: { available: false } }))
}

function refusing(status: number, headers: Record<string, string> = {}): Answer {
  return (_request, response) => response.writeHead(status, headers).end()
}

/** The product's parts on one database and an upstream; two gates as of two processes. */
async function prepare(db: Db, { fares, answer }: { fares: number; answer: Answer }) {
  const server = await answering(answer)
  onTestFinished(() => server[Symbol.asyncDispose]())
  const [breaker, otherProcess] = [breakerOn(db), breakerOn(db)]
  const { client } = clientOf(server.url, { breaker })
  onTestFinished(async () => {
    await client.close()
    await breaker.close()
  })
  const deps: VerifyJobDeps = {
    db,
    upstream: client,
    breaker,
    clock: systemClock,
    rules: { ...RULES, requestsPerSecond: REQUESTS_PER_SECOND },
    metrics: createMetrics(),
    log: silentLog,
  }
  for (let i = 0; i < fares; i += 1) await trackFare(db, { flightId: `10${i}` })
  const jobs: VerifyFaresPayload[] = []
  const queue = {
    enqueue: async (_name: string, { payload }: { payload: object }) => {
      jobs.push(payload as VerifyFaresPayload)
    },
  }
  return {
    deps,
    server,
    /** Another process dispatches, and this one runs the jobs. */
    dispatch: (requestsPerSecond: number) =>
      dispatchChecks({ db, queue, ...deps.rules, requestsPerSecond, breaker: otherProcess }),
    work: async () => {
      for (const claim of jobs.splice(0)) await verifyFaresJob(deps, claim, signal)
      await breaker.close()
    },
  }
}

interface ScheduleRow {
  readonly id: number
  readonly vdue: number
  readonly claimed: boolean
  readonly due: boolean
}

async function schedules(db: Db): Promise<ScheduleRow[]> {
  const { rows } = await sql<ScheduleRow>`
    select q.tracked_fare_id as id, t.vdue, q.claim_id is not null as claimed,
           q.not_before <= clock_timestamp() as due
      from fare_schedule q
      join turn t using (tracked_fare_id)
     order by q.tracked_fare_id
  `.execute(db)
  return rows
}

async function nextSlot(db: Db): Promise<Date | undefined> {
  const { rows } = await sql<{ at: Date }>`select next_slot_at as at from upstream_budget`.execute(
    db,
  )
  return rows[0]?.at
}

// Fault: Asked to wait: a pause for all processes with a limited length; no fare and no attempt of a list is affected.
describe('a pause', () => {
  it('no slot that was reserved before the pause is used, and the dispatchers hear that its fares are due', async ({
    db,
    databaseUrl,
  }) => {
    const { dispatch, work, server, deps } = await prepare(db, { fares: 6, answer: gone })
    await dispatch(3)
    const hints = await countHints(databaseUrl, 'due')
    const pausing = breakerOn(db)
    await pausing.acquirePermit('verify')
    const record = { outcome: 'upstream.rate_limited', status: 429, retryAfterMs: 60_000 }
    await pausing.report('verify', record, permitOf())

    await work()

    expect(server.requests).toEqual([])
    expect((await schedules(db)).every((row) => !row.claimed && row.due && row.vdue === 0)).toBe(
      true,
    )
    const dropped = await deps.metrics.checksDropped.get()
    expect(dropped.values).toContainEqual(
      expect.objectContaining({ labels: { reason: 'upstream_closed' }, value: 6 }),
    )
    await until('the hint', () => hints() > 0)
  })
})

describe('on demand', () => {
  it('an on-demand check while the breaker is open is answered without a call and without a slot', async ({
    db,
  }) => {
    const { deps, server } = await prepare(db, { fares: 1, answer: refusing(401) })
    const asked = question({ flightId: '100' })
    for (let i = 0; i < 10; i += 1) await verifyOnDemand(deps, asked, signal)
    const slot = await nextSlot(db)

    const { observation, fareId } = await verifyOnDemand(deps, asked, signal)

    expect(observation).toMatchObject({
      outbound: { kind: 'unknown', reason: 'circuit_open' },
      detail: expect.stringMatching(/the breaker "auth" is open; next attempt at 20/),
      evidence: { body: null, status: null },
    })
    expect(fareId).not.toBeNull()
    expect(server.requests).toHaveLength(10)
    expect(await nextSlot(db)).toEqual(slot)
    const { rows } = await sql<{ checks: number }>`select checks from fare_state`.execute(db)
    expect(rows).toEqual([{ checks: 10 }])
  })
})
