import { hash } from 'node:crypto'
import { type Db, sql } from '../../db/database.ts'
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
 * Keeps the answer to a question for every API process. Of two answers the one whose request began later stays.
 * Also deletes expired answers, so that the table holds no more than ten minutes of on-demand checks.
 */
export async function publishResult(
  db: Db,
  question: Question,
  { askedAt, body }: CachedObservation,
): Promise<void> {
  await sql`
    insert into verify_result as r (question, asked_at, body) values (${keyOf(question)}, ${askedAt}, ${body})
        on conflict (question) do update
       set asked_at = excluded.asked_at, body = excluded.body
     where r.asked_at < excluded.asked_at
  `.execute(db)
  await deleteExpired(db)
}

/** Skips rows that another process is deleting or replacing: two deletes must not wait for each other. */
async function deleteExpired(db: Db): Promise<void> {
  await sql`
    delete from verify_result
     where question in (select question from verify_result
                         where asked_at < clock_timestamp() - make_interval(secs => ${MAX_AGE_SECONDS}::int)
                           for update skip locked)
  `.execute(db)
}

/** The kept answer to a question, unless its request began more than `maxAgeSeconds` ago. */
export async function findCachedObservation(
  db: Db,
  question: Question,
  maxAgeSeconds: number,
): Promise<CachedObservation | undefined> {
  const { rows } = await sql<CachedObservation>`
    select asked_at as "askedAt", body
      from verify_result
     where question = ${keyOf(question)}
       and asked_at between clock_timestamp() - make_interval(secs => ${maxAgeSeconds}::int) and clock_timestamp()
  `.execute(db)
  return rows[0]
}

/** A question's text may be longer than an index entry allows. */
function keyOf(question: Question): string {
  return hash('sha256', verifyPath(question))
}
