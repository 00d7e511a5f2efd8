import { type Db, type RawBuilder, sql, type Tx } from '../../db/database.ts'
import { selectOne } from '../../db/transaction.ts'
import { CLIMB_SECONDS, LOWER_TO, type Throttle } from './throttle.ts'

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
  await tx
    .updateTable('upstream_budget')
    .set({
      paused_until: timestamp(pausedUntilMs),
      pauses_in_row: pausesInRow,
      share,
      recovers_from: timestamp(recoversFromMs),
    })
    .execute()
}

/** Keeps the fractions of a millisecond, which a Date would drop. */
function timestamp(ms: number): RawBuilder<Date> {
  return sql`to_timestamp(${ms}::float8 / 1000)`
}
