import { type Clock, systemClock } from '../../src/base/clock.ts'
import type { Logger } from '../../src/base/logger.ts'
import { type Db, sql } from '../../src/db/database.ts'
import type { Permit } from '../../src/upstream/breaker/admission.ts'
import {
  type BreakerName,
  type BreakerState,
  type EndpointGroup,
  type Outcomes,
  RULES,
} from '../../src/upstream/breaker/breaker-state.ts'
import {
  type CircuitBreaker,
  createCircuitBreaker,
} from '../../src/upstream/breaker/circuit-breaker.ts'
import { silentLog } from '../support/silent-log.ts'

export const HEALTHY: BreakerState = {
  open: null,
  closedAtMs: null,
  trips: 0,
  failuresInARow: 0,
  failedAtMs: null,
  window: [],
}

export function outcomes(parts: Partial<Outcomes> = {}): Outcomes {
  const none = { counts: [], goodAtMs: null, failuresInARow: 0, failedAtMs: null }
  return { ...none, cause: null, probe: null, ...parts }
}

export interface BreakerParts {
  readonly clock?: Clock
  readonly log?: Logger
  readonly accessToken?: string
}

/** The circuit breaker of one process. */
export function breakerOn(db: Db, parts: BreakerParts = {}): CircuitBreaker {
  return createCircuitBreaker({
    db,
    clock: systemClock,
    log: silentLog,
    accessToken: 'token-of-the-tests',
    ...parts,
  })
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
  await breaker.report(group, { record: ENDS[end], permit })
  return permit
}

/** Opens the auth breaker of a group: as many calls are refused in a row as its rule asks for. */
export async function openAuth(breaker: CircuitBreaker, group: EndpointGroup): Promise<void> {
  const { inARow = 0 } = RULES[group].auth
  for (let i = 0; i < inARow; i += 1) await callThrough(breaker, 'unauthorized', group)
}

export async function stateOf(
  db: Db,
  endpoint: EndpointGroup,
  breaker: BreakerName,
): Promise<BreakerState> {
  const { rows } = await sql<{ state: BreakerState }>`
    select state from upstream_breaker where endpoint = ${endpoint} and breaker = ${breaker}
  `.execute(db)
  if (rows[0] === undefined) throw new Error('there is no such breaker')
  return rows[0].state
}

/** Lets time pass for the shared state: moves every instant in it back by `ms`. */
export async function passHealth(db: Db, ms: number): Promise<void> {
  const { rows } = await sql<{ endpoint: string; breaker: string; state: BreakerState }>`
    select endpoint, breaker, state from upstream_breaker
  `.execute(db)
  for (const { endpoint, breaker, state } of rows) {
    const { open } = state
    const probe = open?.probe ? { ...open.probe, untilMs: open.probe.untilMs - ms } : null
    const earlier = {
      ...state,
      closedAtMs: state.closedAtMs === null ? null : state.closedAtMs - ms,
      open: open && { ...open, probe, sinceMs: open.sinceMs - ms, probeAtMs: open.probeAtMs - ms },
    }
    await sql`
      update upstream_breaker set state = ${JSON.stringify(earlier)}::jsonb
       where endpoint = ${endpoint} and breaker = ${breaker}
    `.execute(db)
  }
  await sql`
    update upstream_budget
       set paused_until = paused_until - ${`${ms} ms`}::interval,
           recovers_from = recovers_from - ${`${ms} ms`}::interval,
           next_slot_at = next_slot_at - ${`${ms} ms`}::interval,
           next_lane_at = next_lane_at - ${`${ms} ms`}::interval
  `.execute(db)
}
