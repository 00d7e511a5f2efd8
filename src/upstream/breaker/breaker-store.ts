import { type Db, sql, type Tx } from '../../db/database.ts'
import { selectOne } from '../../db/transaction.ts'
import { shareInSql } from '../budget/reserve-slots.ts'
import { isPaused, type Throttle } from '../budget/throttle.ts'
import type { BreakerName, BreakerState, EndpointGroup } from './breaker-state.ts'

export type GroupStates = Readonly<Record<BreakerName, BreakerState>>

/** What all processes know of the upstream, at one instant of the database's clock, in milliseconds. */
export interface UpstreamHealth {
  readonly nowMs: number
  /** 0 where there never was a pause. */
  readonly pausedUntilMs: number
  /** The part of the budget that may be spent now: 0 during a pause. */
  readonly share: number
  readonly breakers: Readonly<Record<EndpointGroup, GroupStates>>
}

/** Everything in one statement, for it is read a few times a second by every process that calls. */
export async function readHealth(db: Db): Promise<UpstreamHealth> {
  const found = await selectOne(
    sql<UpstreamHealth>`
      select (extract(epoch from now) * 1000)::float8 as "nowMs",
             (extract(epoch from paused_until) * 1000)::float8 as "pausedUntilMs",
             ${shareInSql()} as share,
             (select jsonb_object_agg(endpoint, states)
                from (select endpoint, jsonb_object_agg(breaker, state) as states
                        from upstream_breaker group by endpoint) g) as breakers
        from (select *, clock_timestamp() as now from upstream_budget) b
    `,
    db,
  )
  return { ...found, share: isPaused(found, found.nowMs) ? 0 : found.share }
}

/** Both breakers of a group, locked until the transaction ends, and the clock behind the locks. */
export async function lockBreakers(
  tx: Tx,
  endpoint: EndpointGroup,
): Promise<{ states: GroupStates; nowMs: number }> {
  return selectOne(
    sql<{ states: GroupStates; nowMs: number }>`
      with locked as materialized (
        select breaker, state from upstream_breaker where endpoint = ${endpoint} order by breaker for update
      ), gathered as materialized (
        select jsonb_object_agg(breaker, state) as states from locked
      )
      select states, (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs" from gathered
    `,
    tx,
  )
}

export async function saveBreaker(
  tx: Tx,
  {
    endpoint,
    breaker,
    state,
  }: { endpoint: EndpointGroup; breaker: BreakerName; state: BreakerState },
): Promise<void> {
  await sql`
    update upstream_breaker
       set state = ${JSON.stringify(state)}::jsonb, written_at = clock_timestamp()
     where endpoint = ${endpoint} and breaker = ${breaker}
  `.execute(tx)
}

/** The row that every reservation locks: what is changed here holds from the next one on. */
export async function lockThrottle(tx: Tx): Promise<{ throttle: Throttle; nowMs: number }> {
  const { nowMs, ...throttle } = await selectOne(
    sql<Throttle & { nowMs: number }>`
      with locked as materialized (
        select * from upstream_budget for update
      )
      select (extract(epoch from paused_until) * 1000)::float8 as "pausedUntilMs",
             pauses_in_row as "pausesInRow", share,
             (extract(epoch from recovers_from) * 1000)::float8 as "recoversFromMs",
             (extract(epoch from lowered_at) * 1000)::float8 as "loweredAtMs",
             (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"
        from locked
    `,
    tx,
  )
  return { throttle, nowMs }
}

export async function saveThrottle(tx: Tx, throttle: Throttle): Promise<void> {
  await sql`
    update upstream_budget
       set paused_until = to_timestamp(${throttle.pausedUntilMs}::float8 / 1000),
           pauses_in_row = ${throttle.pausesInRow},
           share = ${throttle.share},
           recovers_from = to_timestamp(${throttle.recoversFromMs}::float8 / 1000),
           lowered_at = to_timestamp(${throttle.loweredAtMs}::float8 / 1000)
  `.execute(tx)
}
