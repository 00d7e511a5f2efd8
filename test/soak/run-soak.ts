import { inject } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { makeWait } from '../fares/worker-fixtures.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'

/** A seeded generator, so that every run has the same faults. */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** Makes no fare due any more, so that no new claim is made, and waits until no claim is open. */
export async function drain(db: Db): Promise<void> {
  await until('no open claims', async () => {
    await makeWait(db)
    const { rows } = await sql<{ open: number }>`
      select count(*) as open from fare_schedule where claim_id is not null
    `.execute(db)
    return rows[0]?.open === 0
  })
}

/** Runs a soak of so many seconds with the queue in PostgreSQL, and on Redis where there is one. */
export function onBothQueues(
  holds: string,
  seconds: number,
  soak: (db: Db, databaseUrl: string, redisUrl: string | null) => Promise<void>,
): void {
  it.for(['PostgreSQL', 'Redis'])(
    `with a queue on %s, ${holds}`,
    { timeout: (seconds + 300) * 1000 },
    async (queue, { db, databaseUrl, skip }) => {
      const redis = inject('redisUrl')
      skip(queue === 'Redis' && redis === null)
      await soak(db, databaseUrl, queue === 'Redis' ? new URL('/8', redis ?? '').href : null)
    },
  )
}
