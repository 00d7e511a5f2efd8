import { type Db, PREPARED, sql } from '../../platform/db/database.ts'
import { notify } from '../../platform/db/listener.ts'
import { inTransaction, selectOne } from '../../platform/db/transaction.ts'
import { shareInSql } from '../budget/budget-store.ts'
import { isPaused } from '../budget/throttle.ts'
import type { Breakers, Change } from './breaker-state.ts'

/** What all processes share. Instants are milliseconds by the database's clock. During a pause `share` is 0. */
export interface UpstreamHealth {
  readonly nowMs: number
  readonly pausedUntilMs: number
  /** The part of the budget that may be spent now. */
  readonly share: number
  readonly breakers: Breakers
}

/** Reads everything in one statement, because every process that calls the upstream runs it a few times a second. */
export async function readHealth(db: Db): Promise<UpstreamHealth> {
  const found = await selectOne(
    sql<UpstreamHealth>`${PREPARED}
      select (extract(epoch from now) * 1000)::float8 as "nowMs",
             (extract(epoch from paused_until) * 1000)::float8 as "pausedUntilMs",
             round((${shareInSql()})::numeric, 6)::float8 as share, breakers
        from (select *, clock_timestamp() as now from upstream_budget) b, upstream_breaker
    `,
    db,
  )
  return { ...found, share: isPaused(found, found.nowMs) ? 0 : found.share }
}

/** Applies a change to the locked row. The change may run twice. */
export async function changeBreakers(db: Db, change: Change) {
  return inTransaction(db, async (tx) => {
    // The clock is read after the row is locked.
    const { before, nowMs } = await selectOne(
      sql<{ before: Breakers; nowMs: number }>`
        with locked as materialized (select breakers from upstream_breaker for update)
        select breakers as before, (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs" from locked
      `,
      tx,
    )
    const after = change(before, nowMs)
    const breakers = JSON.stringify(after)
    if (after !== before) {
      await sql`
        with changed as materialized (update upstream_breaker set breakers = ${breakers} returning true)
        select ${notify('upstream')} from changed
      `.execute(tx)
    }
    return { before, after, nowMs }
  })
}
