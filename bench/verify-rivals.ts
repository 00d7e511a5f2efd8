/** What bench/verify.ts compares with: the obvious way to record. */
import { setTimeout as delay } from 'node:timers/promises'
import { type App, openQueue } from '../src/app/app.ts'
import { decide } from '../src/fares/decide.ts'
import { stateOfRow, storedState } from '../src/fares/state.ts'
import { sql, type Tx } from '../src/platform/db/database.ts'
import { inTransaction, selectOne } from '../src/platform/db/transaction.ts'
import type { QueueSystem } from '../src/platform/queue/queue-system.ts'
import { questionWith } from '../src/upstream/question.ts'

const NAIVE_QUEUE = 'naive'
const NAIVE_JOBS = 50

/**
 * Uses one job a fare, one transaction a job, one statement a row, and one row a check, with the same queue, client,
 * decision and database. It keeps no budget and no schedule, which is an advantage.
 * Returns the number of checks that were recorded during `measure`, after a warm-up of one second.
 */
export async function jobPerFare(app: App, measure: () => Promise<void>): Promise<number> {
  const { db } = app.database
  await sql`
    create table if not exists naive_check (
      id bigint generated always as identity primary key,
      tracked_fare_id bigint not null, asked_at timestamptz not null, available boolean not null, latency_ms integer
    )
  `.execute(db)
  const { rows } = await sql<{ id: number }>`select id from tracked_fare order by id`.execute(db)
  const queue = openQueue(app)
  await queue.start()
  await queue.work<{ fareId: number }>(NAIVE_QUEUE, ({ fareId }) => checkOne(app, fareId), {
    concurrency: NAIVE_JOBS,
  })
  const ending = new AbortController()
  const feeding = feed(
    queue,
    rows.map((row) => row.id),
    ending.signal,
  )
  try {
    await delay(1_000)
    const count = async () =>
      (await selectOne(sql<{ n: number }>`select count(*) as n from naive_check`, db)).n
    const before = await count()
    await measure()
    return (await count()) - before
  } finally {
    ending.abort()
    await feeding
    await queue.close({ graceMs: 5_000 })
  }
}

/** Keeps a backlog, so that no worker waits for a job. */
async function feed(queue: QueueSystem, fareIds: readonly number[], ending: AbortSignal) {
  for (let at = 0; !ending.aborted; ) {
    const { waiting } = await queue.counts(NAIVE_QUEUE)
    if (waiting > NAIVE_JOBS * 4) {
      await delay(20)
      continue
    }
    const next = Array.from(
      { length: NAIVE_JOBS },
      (_, i) => fareIds[(at + i) % fareIds.length] ?? 0,
    )
    at += NAIVE_JOBS
    await Promise.all(next.map((fareId) => queue.enqueue(NAIVE_QUEUE, { payload: { fareId } })))
  }
}

async function checkOne({ database, upstream, verifyDeps }: App, fareId: number): Promise<void> {
  const { db } = database
  const { flightId } = await selectOne(
    sql<{
      flightId: string
    }>`select flight_id as "flightId" from tracked_fare where id = ${fareId}`,
    db,
  )
  const askedAt = new Date()
  const signal = new AbortController().signal
  const observation = await upstream.verifyFares(questionWith({ flightId }), { signal })
  await inTransaction(db, async (tx) => {
    const { state } = await selectOne(
      sql<{
        state: object
      }>`select state from fare_state where tracked_fare_id = ${fareId} for update`,
      tx,
    )
    const row = {
      state,
      hasReturn: false,
      lastGoodCheckAt: null,
      priceCheckedAt: null,
      priceReason: null,
      everAvailableAt: null,
    }
    const calm = { masses: [], releasedAt: new Map<never, Date>() }
    const answer = { askedAt, observation, intervalSeconds: 60 }
    const decision = decide(stateOfRow(row), answer, verifyDeps.rules, calm)
    await saveOne(tx, { fareId, askedAt, decision, latencyMs: observation.evidence.latencyMs })
  })
}

async function saveOne(
  tx: Tx,
  {
    fareId,
    askedAt,
    decision,
    latencyMs,
  }: {
    fareId: number
    askedAt: Date
    decision: ReturnType<typeof decide>
    latencyMs: number
  },
): Promise<void> {
  const { state } = decision
  const { belief } = state
  await sql`
    update fare_state
       set outbound = ${belief.outbound.belief}, pair = ${belief.pair}, state = ${JSON.stringify(storedState(state))}::jsonb,
           asked_at = ${askedAt}, last_check_at = clock_timestamp(), last_good_check_at = ${askedAt}, checks = checks + 1
     where tracked_fare_id = ${fareId}
  `.execute(tx)
  await sql`
    insert into naive_check (tracked_fare_id, asked_at, available, latency_ms)
    values (${fareId}, ${askedAt}, ${belief.pair === 'bookable'}, ${latencyMs})
  `.execute(tx)
  await sql`
    update fare_schedule
       set not_before = clock_timestamp() + interval '1 second'
     where tracked_fare_id = ${fareId}
  `.execute(tx)
  await sql`update turn set vdue = vdue + 1 where tracked_fare_id = ${fareId}`.execute(tx)
}
