import { type Db, sql } from '../../src/platform/db/database.ts'
import { makeWait } from '../fares/worker-fixtures.ts'
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
