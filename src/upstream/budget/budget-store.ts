import { type Db, sql } from '../../db/database.ts'
import { selectOne } from '../../db/transaction.ts'

/** How far ahead the budget is given away, in seconds: 0 where the next slot is now, about 5 where all of it is taken. */
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
