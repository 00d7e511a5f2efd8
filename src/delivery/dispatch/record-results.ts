import type { EndpointFormat } from '../../platform/base/kinds.ts'
import { type Db, sql, type Tx } from '../../platform/db/database.ts'
import { inTransaction, WITHOUT_WAITING_FOR_DISK } from '../../platform/db/transaction.ts'
import { disableEndpoints } from '../endpoints/disable-endpoints.ts'
import type { SendResult } from '../formats/format.ts'
import type { ClaimedDelivery } from './claim-deliveries.ts'
import {
  type EndedAttempt,
  type EndpointHealth,
  healthAfter,
  retryPauseMs,
} from './delivery-rules.ts'

/**
 * How one request ended for one delivery. `too_large`: no request was made, the payload is over the limit.
 * `released`: the process stopped before the request ended.
 */
export interface EndedRequest {
  readonly delivery: ClaimedDelivery
  readonly format: EndpointFormat
  readonly result: RequestResult
  readonly startedAt: Date
  readonly durationMs: number
}

export type RequestResult =
  | SendResult
  | { readonly kind: 'too_large' }
  | { readonly kind: 'released' }

/** The outcomes of requests, as metrics and attempts name them. */
type RecordedOutcome = 'delivered' | 'failed' | 'dead' | 'postponed'

interface RecordedDelivery {
  readonly format: EndpointFormat
  readonly outcome: RecordedOutcome
  /** From the record to the end of the request. */
  readonly lagMs: number
}

export interface RecordedResults {
  readonly deliveries: readonly RecordedDelivery[]
  /** The endpoints that their receivers have disabled. */
  readonly disabled: readonly string[]
}

/**
 * Records how requests ended: their attempts, what becomes of the deliveries, and the health of the endpoints. Returns
 * those whose claim was still valid. The result of a request whose lease has passed to another process is dropped.
 *
 * If the database server crashes, the results of its last moments may be lost. Those deliveries are made again
 * under their ids, as after a crash of this process.
 */
export async function recordResults(
  db: Db,
  ended: readonly EndedRequest[],
  random: () => number,
): Promise<RecordedResults> {
  return inTransaction(db, async (tx) => {
    const endpoints = await lockEndpoints(tx, [
      ...new Set(ended.map(({ delivery }) => delivery.endpointId)),
    ])
    const nowMs = endpoints[0]?.now.getTime() ?? 0
    const decided = withSharedPauses(ended.map((request) => decide(request, random)))
    const written = new Set(await writeDeliveries(tx, decided))
    const valid = decided.filter(({ request }) => written.has(request.delivery.id))
    await insertAttempts(tx, valid)
    await writeHealth(tx, endpoints, { valid, nowMs })
    const gone = valid.filter(({ request }) => request.result.kind === 'gone')
    const goneIds = [...new Set(gone.map(({ request }) => request.delivery.endpointId))]
    const disabled = await disableEndpoints(tx, goneIds, 'gone')
    const deliveries = valid.flatMap(({ request: { delivery, format }, outcome }) => {
      if (outcome === null) return []
      return [{ format, outcome, lagMs: nowMs - delivery.recordedAt.getTime() }]
    })
    return { deliveries, disabled }
  })
}

/** A request with what becomes of its delivery. */
interface Decided {
  readonly request: EndedRequest
  readonly state: 'pending' | 'delivered' | 'dead'
  readonly deadReason: 'blocked' | 'too_large' | null
  /** The pause before the next attempt; null if there is none. */
  readonly pauseMs: number | null
  /** The columns of the attempt; null if none was made. */
  readonly attempt: {
    readonly status: number | null
    readonly code: string
    readonly answer: string
  } | null
  /** Null if the process stopped. */
  readonly outcome: RecordedOutcome | null
}

function decide(request: EndedRequest, random: () => number): Decided {
  const { result, delivery } = request
  const none = {
    request,
    state: 'pending',
    deadReason: null,
    pauseMs: null,
    attempt: null,
  } as const
  if (result.kind === 'released') return { ...none, pauseMs: 0, outcome: null }
  if (result.kind === 'too_large') {
    return { ...none, state: 'dead', deadReason: 'too_large', outcome: 'dead' }
  }
  if (result.kind === 'postponed') {
    return { ...none, pauseMs: result.retryAfterMs, outcome: 'postponed' }
  }
  const { status, answer } = result
  const code = result.kind === 'delivered' ? 'ok' : result.outcome
  const made = { ...none, attempt: { status, code, answer } }
  if (result.kind === 'delivered') return { ...made, state: 'delivered', outcome: 'delivered' }
  if (result.kind === 'blocked') {
    return { ...made, state: 'dead', deadReason: 'blocked', outcome: 'dead' }
  }
  const retryAfterMs = result.kind === 'failed' ? result.retryAfterMs : undefined
  const pauseMs = retryPauseMs({ attempts: delivery.attempts + 1, retryAfterMs }, random)
  return { ...made, pauseMs, outcome: 'failed' }
}

/** The messages that a request joined are tried again together. */
function withSharedPauses(decided: readonly Decided[]): Decided[] {
  const pauses = new Map<RequestResult, number | null>()
  return decided.map((one) => {
    const { result } = one.request
    const pauseMs = pauses.get(result) ?? one.pauseMs
    pauses.set(result, pauseMs)
    return { ...one, pauseMs }
  })
}

interface LockedEndpoint extends EndpointHealth {
  readonly id: string
  readonly now: Date
}

/** In the order of their ids, as every other transaction locks them. */
async function lockEndpoints(tx: Tx, ids: readonly string[]): Promise<LockedEndpoint[]> {
  const { rows } = await sql<LockedEndpoint>`
    select id, failures, clock_timestamp() as now, ${WITHOUT_WAITING_FOR_DISK},
           extract(epoch from failing_since)::float8 * 1000 as "failingSinceMs",
           extract(epoch from open_until)::float8 * 1000 as "openUntilMs",
           extract(epoch from held_until)::float8 * 1000 as "heldUntilMs",
           extract(epoch from last_success_at)::float8 * 1000 as "lastSuccessAtMs"
      from webhook_endpoint
     where id = any(${ids}::uuid[])
     order by id
       for no key update
  `.execute(tx)
  return rows
}

/** Returns the ids of the deliveries that the claim still holds. */
async function writeDeliveries(tx: Tx, decided: readonly Decided[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    update delivery d
       set state = s.state,
           dead_reason = s.dead_reason,
           attempts = d.attempts + s.made::int,
           first_attempt_at = case when s.made then coalesce(d.first_attempt_at, s.started_at) else d.first_attempt_at end,
           due_at = clock_timestamp() + s.pause_ms * interval '1 millisecond',
           ended_at = case when s.state <> 'pending' then clock_timestamp() end,
           claim_id = null
      from unnest(${decided.map(({ request }) => request.delivery.id)}::uuid[],
                  ${decided.map(({ request }) => request.delivery.claimId)}::uuid[],
                  ${decided.map(({ state }) => state)}::text[],
                  ${decided.map(({ deadReason }) => deadReason)}::text[],
                  ${decided.map(({ attempt }) => attempt !== null)}::boolean[],
                  ${decided.map(({ request }) => request.startedAt)}::timestamptz[],
                  ${decided.map(({ pauseMs }) => pauseMs)}::float8[])
           s (id, claim_id, state, dead_reason, made, started_at, pause_ms)
     where d.id = s.id and d.claim_id = s.claim_id
    returning d.id
  `.execute(tx)
  return rows.map(({ id }) => id)
}

async function insertAttempts(tx: Tx, decided: readonly Decided[]): Promise<void> {
  const rows = decided.flatMap(({ request, attempt }) =>
    attempt === null ? [] : [{ ...request, ...attempt, id: request.delivery.id }],
  )
  if (rows.length === 0) return
  await sql`
    insert into delivery_attempt (delivery_id, started_at, duration_ms, status, outcome, answer)
    select * from unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map((row) => row.startedAt)}::timestamptz[],
                         ${rows.map((row) => Math.round(row.durationMs))}::int[], ${rows.map((row) => row.status)}::smallint[],
                         ${rows.map((row) => row.code)}::text[], ${rows.map((row) => row.answer)}::text[])
  `.execute(tx)
}

async function writeHealth(
  tx: Tx,
  endpoints: readonly LockedEndpoint[],
  { valid, nowMs }: { readonly valid: readonly Decided[]; readonly nowMs: number },
): Promise<void> {
  const changed = endpoints.flatMap((before) => {
    const own = valid.filter(({ request }) => request.delivery.endpointId === before.id)
    const after = attemptsOf(own).reduce<EndpointHealth>(
      (health, attempt) => healthAfter(health, { ...attempt, nowMs }),
      before,
    )
    return after === before ? [] : [{ ...after, id: before.id, before }]
  })
  if (changed.length === 0) return
  await tryAgain(
    tx,
    changed.flatMap(({ before, lastSuccessAtMs }) =>
      before.failures > 0 && lastSuccessAtMs !== before.lastSuccessAtMs ? [before] : [],
    ),
  )
  await sql`
    update webhook_endpoint e
       set failures = h.failures,
           failing_since = to_timestamp(h.failing_since / 1000),
           open_until = to_timestamp(h.open_until / 1000),
           held_until = to_timestamp(h.held_until / 1000),
           last_success_at = to_timestamp(h.last_success_at / 1000)
      from unnest(${changed.map(({ id }) => id)}::uuid[],
                  ${changed.map(({ failures }) => failures)}::int[],
                  ${changed.map(({ failingSinceMs }) => failingSinceMs)}::float8[],
                  ${changed.map(({ openUntilMs }) => openUntilMs)}::float8[],
                  ${changed.map(({ heldUntilMs }) => heldUntilMs)}::float8[],
                  ${changed.map(({ lastSuccessAtMs }) => lastSuccessAtMs)}::float8[])
           h (id, failures, failing_since, open_until, held_until, last_success_at)
     where e.id = h.id
  `.execute(tx)
}

/**
 * After a success that ends failures the deliveries that were first tried since the success before are due at once: in the
 * order of the feed and before what waits, with as many requests as the endpoint may have. What fails again, and what failed
 * while others succeeded, keeps its pauses, so that a record that a receiver never accepts is not sent with each success.
 * One that another statement has locked is left to it: to wait for its lock could end in a deadlock.
 */
async function tryAgain(tx: Tx, recovered: readonly LockedEndpoint[]): Promise<void> {
  if (recovered.length === 0) return
  await sql`
    update delivery d
       set due_at = least(clock_timestamp(), (select min(due_at) from delivery
                                               where endpoint_id = d.endpoint_id and state = 'pending' and not replayed))
     where id in (select d.id
                    from unnest(${recovered.map(({ id }) => id)}::uuid[],
                                ${recovered.map(({ lastSuccessAtMs }) => lastSuccessAtMs)}::float8[]) e (id, last_success_at)
                    join delivery d on d.endpoint_id = e.id and d.state = 'pending' and d.claim_id is null
                     and d.first_attempt_at > coalesce(to_timestamp(e.last_success_at / 1000), '-infinity')
                     for no key update of d skip locked)
  `.execute(tx)
}

/** How each request to an endpoint ended. The messages that a request joined have one result. */
function attemptsOf(decided: readonly Decided[]): Omit<EndedAttempt, 'nowMs'>[] {
  const results = decided.flatMap(({ request: { result }, attempt }) =>
    attempt === null ? [] : [result],
  )
  return [...new Set(results)].map((result) => ({
    succeeded: result.kind === 'delivered',
    retryAfterMs: result.kind === 'failed' ? result.retryAfterMs : undefined,
  }))
}
