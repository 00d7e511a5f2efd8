import { hash } from 'node:crypto'
import { type Db, type RawBuilder, sql } from '../../platform/db/database.ts'
import { isAhead } from '../../platform/db/transaction.ts'
import { verifyPath } from '../../upstream/flights/verify-fares.ts'
import type { Question } from '../../upstream/observation.ts'

/** Answers of on-demand checks are kept this long; no `maxAge` reaches further back. */
export const MAX_AGE_SECONDS = 600

/** An answer that an on-demand check received. */
export interface CachedObservation {
  /** When the request to the upstream began, by the database's clock. */
  readonly askedAt: Date
  /** The text of the interface's Verify result. */
  readonly body: string
}

/**
 * Keeps the answer to a question for every API process. Of two answers the one whose request began later stays, unless
 * its time lies ahead of the clock.
 * Also deletes expired answers, so that the table holds no more than ten minutes of on-demand checks.
 */
export async function publishResult(
  db: Db,
  question: Question,
  { askedAt, body }: CachedObservation,
): Promise<void> {
  const row = { question: keyOf(question), asked_at: askedAt, body }
  await db
    .insertInto('verify_result')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .column('question')
        .doUpdateSet({ asked_at: askedAt, body })
        .where((kept) =>
          kept.or([
            kept('verify_result.asked_at', '<', askedAt),
            isAhead(sql`verify_result.asked_at`),
          ]),
        ),
    )
    .execute()
  await deleteExpired(db)
}

/** Skips rows that another process is deleting or replacing: two deletes must not wait for each other. */
async function deleteExpired(db: Db): Promise<void> {
  const expired = db
    .selectFrom('verify_result')
    .select('question')
    .where('asked_at', '<', secondsAgo(MAX_AGE_SECONDS))
    .forUpdate()
    .skipLocked()
  await db.deleteFrom('verify_result').where('question', 'in', expired).execute()
}

/** The kept answer to a question, unless its request began more than `maxAgeSeconds` ago. */
export async function findCachedObservation(
  db: Db,
  question: Question,
  maxAgeSeconds: number,
): Promise<CachedObservation | undefined> {
  return db
    .selectFrom('verify_result')
    .select(['asked_at as askedAt', 'body'])
    .where('question', '=', keyOf(question))
    .where('asked_at', '>=', secondsAgo(maxAgeSeconds))
    .where('asked_at', '<=', sql<Date>`clock_timestamp()`)
    .executeTakeFirst()
}

function secondsAgo(seconds: number): RawBuilder<Date> {
  return sql`clock_timestamp() - make_interval(secs => ${seconds}::int)`
}

/** A question's text may be longer than an index entry allows. */
function keyOf(question: Question): string {
  return hash('sha256', verifyPath(question))
}
