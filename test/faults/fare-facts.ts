import {
  type VerifyFaresPayload,
  type VerifyJobDeps,
  verifyFaresJob,
} from '../../src/fares/check.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import type { Logger } from '../../src/platform/base/logger.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { dispatchChecks } from '../../src/schedule/claim.ts'
import type { CircuitBreaker } from '../../src/upstream/breaker/circuit-breaker.ts'
import type { UpstreamClient } from '../../src/upstream/upstream-client.ts'
import { passSeconds, RULES } from '../fares/fare-fixtures.ts'
import { makeDue } from '../fares/worker-fixtures.ts'
import { silentLog } from '../support/silent-log.ts'

const REQUESTS_PER_SECOND = 1_000
const { signal } = new AbortController()

/** The belief, the records and the schedule of one fare. */
export interface FareFacts {
  readonly fareId: number
  readonly pair: string
  readonly believed: { readonly outbound: string; readonly return: string | null }
  readonly price: string | null
  /** The state of the decision, with its counters. */
  readonly state: unknown
  readonly kinds: readonly string[]
  readonly reason: string | null
  readonly checks: number
  readonly lane: string | null
  /** Its place in virtual time: that of its first turn. */
  readonly vdue: number
  readonly claimed: boolean
  /** Whether it is due at once. */
  readonly due: boolean
}

/** All fares in the order in which they were tracked. */
export async function fareFacts(db: Db): Promise<FareFacts[]> {
  const { rows } = await sql<FareFacts>`
    select s.tracked_fare_id as "fareId", s.pair,
           jsonb_build_object('outbound', s.outbound, 'return', s.return) as believed,
           s.price || ' ' || s.currency as price, s.state, s.last_reason as reason, s.checks,
           q.lane, q.claim_id is not null as claimed, q.not_before <= clock_timestamp() as due,
           (select min(t.vdue) from turn t where t.tracked_fare_id = s.tracked_fare_id) as vdue,
           array(select kind from availability_change c
                  where c.tracked_fare_id = s.tracked_fare_id order by seq) as kinds
      from fare_state s join fare_schedule q using (tracked_fare_id)
     order by s.tracked_fare_id
  `.execute(db)
  return rows
}

/** Deletes all fares, and the health of the upstream. */
export async function deleteFares(db: Db): Promise<void> {
  await sql`truncate tracked_fare, reseller, evidence, incident, check_minute, asked_flight restart identity cascade`.execute(
    db,
  )
  await sql`update feed_head set last_seq = 0 where feed = 'availability'`.execute(db)
  await resetSchedule(db)
  await resetHealth(db)
}

/** Forgets the queues of resellers, and what all fares have shown. */
export async function resetSchedule(db: Db): Promise<void> {
  await sql`truncate reseller_queue`.execute(db)
  await sql`
    update schedule_facts
       set requests_per_second = null, min_recheck_seconds = null, claimed_at = null, pass = default, learned_at = default,
           available_changes = default, available_exposure = default, unavailable_changes = default,
           unavailable_exposure = default, soon_found = default, soon_expected = default
  `.execute(db)
}

/** Resets the budget, the pause and the breakers to their initial state. */
export async function resetHealth(db: Db): Promise<void> {
  await sql`
    update upstream_budget
       set next_slot_at = default, next_lane_at = default, paused_until = default, pauses_in_row = default,
           share = default, recovers_from = default
  `.execute(db)
  await sql`update upstream_breaker set breakers = default`.execute(db)
}

/** One process that verifies fares, with the schedule and the job of the product. */
export interface Verifier {
  readonly deps: VerifyJobDeps
  /** Claims due fares and checks them. Returns their number. */
  round(): Promise<number>
  /** The same with every fare due, as if twenty seconds had passed: no answer repeats the one before. */
  fullRound(): Promise<number>
}

export function verifierOf(
  db: Db,
  upstream: Pick<UpstreamClient, 'verifyFares'>,
  {
    breaker,
    requestsPerSecond = REQUESTS_PER_SECOND,
    log = silentLog,
  }: {
    readonly breaker?: CircuitBreaker
    readonly requestsPerSecond?: number
    readonly log?: Logger
  } = {},
): Verifier {
  const deps: VerifyJobDeps = {
    db,
    upstream,
    ...(breaker === undefined ? {} : { breaker }),
    clock: systemClock,
    rules: { ...RULES, requestsPerSecond },
    metrics: createMetrics(),
    log,
  }
  const round = async () => {
    const claims: VerifyFaresPayload[] = []
    const queue = {
      enqueue: async (_queue: string, { payload }: { payload: object }) => {
        claims.push(payload as VerifyFaresPayload)
      },
    }
    const parts = { db, queue, ...deps.rules, ...(breaker === undefined ? {} : { breaker }) }
    const claimed = await dispatchChecks(parts)
    await Promise.all(claims.map((claim) => verifyFaresJob(deps, claim, signal)))
    return claimed.length
  }
  const fullRound = async () => {
    await makeDue(db)
    await passSeconds(db, 20)
    return round()
  }
  return { deps, round, fullRound }
}
