import { type Db, sql } from './database.ts'
import { selectOne } from './transaction.ts'

/** The database's clock: what all processes go by, whose own clocks may be wrong. */
export async function databaseNow(db: Db): Promise<Date> {
  const { now } = await selectOne(sql<{ now: Date }>`select clock_timestamp() as now`, db)
  return now
}
