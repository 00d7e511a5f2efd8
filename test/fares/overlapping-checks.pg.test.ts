import pg from 'pg'
import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { countWaiting } from '../platform/db/sessions.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'
import { available, kinds, record } from './fare-fixtures.ts'
import type { Answer } from './pipeline-steps.ts'
import { createJobs, dispatch, moveSlots, type WaitingJob } from './pipeline-world.ts'

const FLIGHT = 'F1'
const ALL_GONE: readonly Answer[] = [['gone', 'gone']]
const COUNTS = { lossConfirmations: 2, gainConfirmations: 1 }

/** A fare that two resellers watch, after these answers; each so many seconds ago. */
async function watchedFare(
  db: Db,
  past: readonly (readonly [number, ReturnType<typeof available>])[],
): Promise<number> {
  await resellerWith(db, [cells({ flight_id: FLIGHT })], 'ana')
  await resellerWith(db, [cells({ flight_id: FLIGHT })], 'ben')
  await sql`update watch set began_at = began_at - interval '2 minutes'`.execute(db)
  const { rows } = await sql<{ id: number }>`select id from tracked_fare`.execute(db)
  const fareId = rows[0]?.id ?? 0
  for (const [seconds, answer] of past) {
    await record(db, fareId, new Date(Date.now() - seconds * 1000), answer)
  }
  return fareId
}

async function claimOf(db: Db): Promise<string> {
  const claims = await dispatch(db, { flightIds: [FLIGHT], processes: 1 })
  const [claimId = ''] = claims.values()
  await moveSlots(db, claimId, { late: false })
  return claimId
}

/** Gives all jobs their answers, and blocks every recording until all have begun. */
async function recordAtOnce(db: Db, url: string, jobs: readonly WaitingJob[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('begin; select from farewatch_private.fare_schedule for update')
    for (const [before, job] of jobs.entries()) {
      job.answer(ALL_GONE)
      await until('one more at a lock', async () => (await countWaiting(db)) === before + 1)
    }
  } finally {
    await client.end()
  }
  for (const job of jobs) expect(await job.ended).toBeUndefined()
}

async function readState(db: Db) {
  const { rows } = await sql`
    select pair, coalesce(state #>> '{candidate,answers}', '0') as contradictions, checks from fare_state
  `.execute(db)
  return rows[0]
}

describe('checks of one fare that overlap', () => {
  // Fault: A job runs twice at once.
  it('a loss counts once when one job runs twice at the same time', async ({ db, databaseUrl }) => {
    const fare = await watchedFare(db, [[60, available()]])
    const claimId = await claimOf(db)
    // Each job has a semaphore of its own, as in two processes.
    const jobs = [
      await createJobs(db, COUNTS).claim(claimId, 1),
      await createJobs(db, COUNTS).claim(claimId, 1),
    ]

    await recordAtOnce(db, databaseUrl, jobs)

    expect(await readState(db)).toEqual({ pair: 'bookable', contradictions: '1', checks: 2 })
    expect(await kinds(db, fare)).toEqual(['first_seen'])
  })
})
