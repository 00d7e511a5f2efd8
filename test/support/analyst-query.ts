import { asAnalyst, type QueryResult } from '../../src/platform/db/analyst-session.ts'
import type { Database } from '../../src/platform/db/database.ts'

/** Runs one statement of an analyst, and returns all of its result. */
export async function runAnalystQuery(
  database: Pick<Database, 'pool'>,
  text: string,
): Promise<QueryResult> {
  const all: QueryResult[] = []
  await asAnalyst(database, ({ stream }) =>
    stream(text, async (part) => {
      all.push(part)
    }),
  )
  return { columns: all[0]?.columns ?? [], rows: all.flatMap(({ rows }) => rows) }
}
