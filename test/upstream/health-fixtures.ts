import { type Clock, systemClock } from '../../src/platform/base/clock.ts'
import type { Logger } from '../../src/platform/base/logger.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import type {
  BreakerName,
  BreakerState,
  EndpointGroup,
} from '../../src/upstream/breaker/breaker-state.ts'
import {
  CircuitBreaker,
  changeBreakers,
  type Permit,
  readHealth,
} from '../../src/upstream/breaker/circuit-breaker.ts'
import { silentLog } from '../support/silent-log.ts'

export const HEALTHY: BreakerState = { open: null, failures: 0, failedAtMs: null, closedAtMs: null }

export interface BreakerParts {
  readonly clock?: Clock
  readonly log?: Logger
}

/** The circuit breaker of one process. */
export function breakerOn(db: Db, parts: BreakerParts = {}): CircuitBreaker {
  return new CircuitBreaker({ db, clock: systemClock, log: silentLog, ...parts })
}

/** The real clock plus an offset, which the test and every sleep advance. */
export function movedClock(): Clock & { move(ms: number): void } {
  let aheadMs = 0
  return {
    move: (ms) => {
      aheadMs += ms
    },
    now: () => new Date(Date.now() + aheadMs),
    sleep: async (ms) => {
      aheadMs += ms
    },
  }
}

export const ENDS = {
  good: { outcome: 'ok', status: 200 },
  unauthorized: { outcome: 'upstream.auth', status: 401 },
  forbidden: { outcome: 'upstream.auth', status: 403 },
  serverError: { outcome: 'upstream.http_5xx', status: 500 },
  timeout: { outcome: 'upstream.timeout', status: undefined },
  aborted: { outcome: 'aborted', status: undefined },
  limited: { outcome: 'upstream.rate_limited', status: 429 },
} as const

export type End = keyof typeof ENDS

export function permitOf(probe: string | null = null): Permit {
  return { kind: 'permit', probe, madeAtMs: Date.now() }
}

/** Makes one permitted call. */
export async function callThrough(
  breaker: CircuitBreaker,
  end: End,
  group: EndpointGroup = 'verify',
): Promise<Permit> {
  const permit = await breaker.acquirePermit(group)
  if (permit.kind === 'refused') throw new Error(`the call is refused by ${permit.by}`)
  await breaker.report(group, ENDS[end], permit)
  return permit
}

export async function stateOf(
  db: Db,
  endpoint: EndpointGroup,
  breaker: BreakerName,
): Promise<BreakerState> {
  const { breakers } = await readHealth(db)
  return breakers[endpoint][breaker]
}

/** Sets parts of the state of one breaker. */
export async function putState(
  db: Db,
  [endpoint, breaker]: readonly [EndpointGroup, BreakerName],
  state: Partial<BreakerState>,
): Promise<void> {
  await changeBreakers(db, (breakers) => {
    const group = breakers[endpoint]
    return { ...breakers, [endpoint]: { ...group, [breaker]: { ...group[breaker], ...state } } }
  })
}

/** Lets time pass for the shared state: moves every instant in it back by `ms`. */
export async function passHealth(db: Db, ms: number): Promise<void> {
  const earlier = ({ open, closedAtMs, ...rest }: BreakerState): BreakerState => ({
    ...rest,
    closedAtMs: closedAtMs && closedAtMs - ms,
    open: open && { ...open, sinceMs: open.sinceMs - ms, probeAtMs: open.probeAtMs - ms },
  })
  await changeBreakers(db, ({ lists, verify }) => ({
    lists: { auth: earlier(lists.auth), errors: earlier(lists.errors) },
    verify: { auth: earlier(verify.auth), errors: earlier(verify.errors) },
  }))
  await sql`
    update upstream_budget
       set paused_until = paused_until - ${`${ms} ms`}::interval,
           recovers_from = recovers_from - ${`${ms} ms`}::interval,
           next_slot_at = next_slot_at - ${`${ms} ms`}::interval,
           next_lane_at = next_lane_at - ${`${ms} ms`}::interval
  `.execute(db)
}

/** The requests by which the fullest window of any length exceeds B(W+1)+1. If the budget holds, this is at most 0. */
export function worstExcess(times: readonly number[], rate: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  let worst = Number.NEGATIVE_INFINITY
  for (const [first, from] of sorted.entries()) {
    for (let last = first; last < sorted.length; last += 1) {
      const seconds = ((sorted[last] ?? from) - from) / 1000
      worst = Math.max(worst, last - first + 1 - (rate * (seconds + 1) + 1))
    }
  }
  return worst
}
