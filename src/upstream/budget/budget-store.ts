import type { Logger } from '../../platform/base/logger.ts'
import { type Db, type RawBuilder, sql, type Tx } from '../../platform/db/database.ts'
import { notify } from '../../platform/db/listener.ts'
import { inTransaction, selectOne } from '../../platform/db/transaction.ts'
import {
  CLIMB_SECONDS,
  isPaused,
  LOWER_TO,
  type PauseRequest,
  type Throttle,
  throttled,
} from './throttle.ts'

/** How far ahead slots are reserved, in seconds: 0 if the next slot is free now, about 5 if all slots are reserved. */
export async function readBudgetAhead(db: Db): Promise<number> {
  const { seconds } = await selectOne(
    sql<{ seconds: number }>`
      select greatest(0, extract(epoch from next_slot_at - clock_timestamp()))::float8 as seconds
        from upstream_budget
    `,
    db,
  )
  return seconds
}

/** The part of the budget that may be spent at `now`, computed from the budget's row: `shareAt` in SQL. */
export function shareInSql(): RawBuilder<number> {
  const refused = sql`share / ${LOWER_TO}::float8`
  const seconds = sql`greatest(0, extract(epoch from now - recovers_from)::float8)`
  const climbed = sql`${seconds} / ${CLIMB_SECONDS}::float8 - cbrt(${refused} - share)`
  return sql`least(1, ${refused} + power(${climbed}, 3))`
}

/** Pauses all processes as some answers asked. Returns the end of the pause, in milliseconds by the database's clock. */
export async function recordPauses(
  { db, log }: { readonly db: Db; readonly log: Logger },
  requests: readonly PauseRequest[],
): Promise<number> {
  const { before, after, nowMs } = await inTransaction(db, async (tx) => {
    const locked = await lockThrottle(tx)
    const pause = (state: Throttle, request: PauseRequest) =>
      throttled(state, request, locked.nowMs)
    const next = requests.reduce(pause, locked.throttle)
    await saveThrottle(tx, next)
    return { before: locked.throttle, after: next, nowMs: locked.nowMs }
  })
  if (!isPaused(before, nowMs)) {
    const until = new Date(after.pausedUntilMs).toISOString()
    log.warn({ until, budgetShare: after.share }, 'the upstream asked us to pause')
  }
  return after.pausedUntilMs
}

/** Locks the row that every reservation locks. The next reservation respects what is changed here. */
export async function lockThrottle(tx: Tx): Promise<{ throttle: Throttle; nowMs: number }> {
  const { nowMs, ...throttle } = await selectOne(
    sql<Throttle & { nowMs: number }>`
      with locked as materialized (
        select * from upstream_budget for update
      )
      select (extract(epoch from paused_until) * 1000)::float8 as "pausedUntilMs",
             pauses_in_row as "pausesInRow", share,
             (extract(epoch from recovers_from) * 1000)::float8 as "recoversFromMs",
             (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"
        from locked
    `,
    tx,
  )
  return { throttle, nowMs }
}

export async function saveThrottle(tx: Tx, throttle: Throttle): Promise<void> {
  const { pausedUntilMs, pausesInRow, share, recoversFromMs } = throttle
  await sql`
    with changed as materialized (
      update upstream_budget
         set paused_until = ${timestamp(pausedUntilMs)}, pauses_in_row = ${pausesInRow}, share = ${share},
             recovers_from = ${timestamp(recoversFromMs)}
      returning true
    )
    select ${notify('upstream')} from changed
  `.execute(tx)
}

/** Keeps the fractions of a millisecond, which a Date would drop. */
function timestamp(ms: number): RawBuilder<Date> {
  return sql`to_timestamp(${ms}::float8 / 1000)`
}
