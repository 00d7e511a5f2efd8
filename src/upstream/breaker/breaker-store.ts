import { isDeepStrictEqual } from 'node:util'
import type { Logger } from '../../base/logger.ts'
import { type Db, sql, type Tx } from '../../db/database.ts'
import { selectOne } from '../../db/transaction.ts'
import { shareInSql } from '../budget/budget-store.ts'
import { isPaused } from '../budget/throttle.ts'
import { BREAKERS, type EndpointGroup, type GroupStates } from './breaker-state.ts'

/** The state of the upstream that all processes share, at one instant of the database's clock, in milliseconds. */
export interface UpstreamHealth {
  readonly nowMs: number
  /** 0 if there never was a pause. */
  readonly pausedUntilMs: number
  /** The part of the budget that may be spent now. 0 during a pause. */
  readonly share: number
  readonly breakers: Readonly<Record<EndpointGroup, GroupStates>>
}

/** Reads everything in one statement, because every process that calls the upstream runs it a few times a second. */
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

/** Locks both breakers of a group until the transaction ends. The clock is read after the locks are held. */
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

export interface Transition {
  readonly before: GroupStates
  readonly after: GroupStates
}

/** Writes the changed breakers of a group. The transaction holds their locks. */
export async function saveChanged(
  tx: Tx,
  endpoint: EndpointGroup,
  { before, after }: Transition,
): Promise<void> {
  for (const breaker of BREAKERS) {
    if (isDeepStrictEqual(before[breaker], after[breaker])) continue
    await tx
      .updateTable('upstream_breaker')
      .set({ state: JSON.stringify(after[breaker]), written_at: sql`clock_timestamp()` })
      .where('endpoint', '=', endpoint)
      .where('breaker', '=', breaker)
      .execute()
  }
}

/** Logs each breaker that opened or closed. The process whose transaction changed it calls this. */
export function logTransitions(
  log: Logger,
  endpoint: EndpointGroup,
  { before, after }: Transition,
): void {
  for (const breaker of BREAKERS) {
    const was = before[breaker].open
    const is = after[breaker].open
    if (was === null && is !== null) {
      const probeAt = new Date(is.probeAtMs).toISOString()
      log.warn({ endpoint, breaker, probeAt }, 'upstream breaker opened')
    }
    if (was !== null && is === null) {
      const openSince = new Date(was.sinceMs).toISOString()
      log.info({ endpoint, breaker, openSince }, 'upstream breaker closed')
    }
  }
}
