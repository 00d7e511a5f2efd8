import { AppError } from '../base/errors.ts'
import { type Db, type RawBuilder, sql } from './database.ts'
import { selectOne } from './transaction.ts'

/** The histories before their floor are archived: a question about an earlier instant has no answer here. */
class HistoryArchivedError extends AppError {
  override readonly name = 'HistoryArchivedError'
  override readonly code = 'history.archived'

  constructor(floor: Date) {
    super(`the history before ${floor.toISOString()} is archived: ask for a later instant`)
  }
}

/** The instant since which the histories are complete. Null in SQL if nothing was archived. */
export const HISTORY_FLOOR: RawBuilder<Date | null> = sql`(select farewatch.history_floor())`

/** Null if nothing was archived. */
export async function readHistoryFloor(db: Db): Promise<Date | null> {
  const { floor } = await selectOne(
    sql<{ floor: Date | null }>`select ${HISTORY_FLOOR} as floor`,
    db,
  )
  return floor
}

/** Throws HistoryArchivedError for an instant before the floor. */
export async function assertKept(db: Db, instant: Date): Promise<void> {
  const floor = await readHistoryFloor(db)
  if (floor !== null && instant < floor) throw new HistoryArchivedError(floor)
}
