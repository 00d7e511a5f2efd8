import { describe, expect, onTestFinished } from 'vitest'
import { type Db, sql } from '../../../src/platform/db/database.ts'
import { createQueueSystem, type QueueSystem } from '../../../src/platform/queue/queue-system.ts'
import {
  enqueueDueSchedules,
  enqueueLostJobs,
  type LostJobsDeps,
} from '../../../src/platform/ticks/schedules.ts'
import { silentLog } from '../../support/silent-log.ts'
import { it } from '../../support/test-database.ts'
import { until } from '../../support/until.ts'
import { aSchedule, createRecorder, NO_JITTER, saveDue } from './schedule-fixtures.ts'

const SYNC = aSchedule('sync')

function openQueue(url: string): QueueSystem {
  const system = createQueueSystem({
    connection: { kind: 'postgres', url },
    log: silentLog,
    scrub: (text) => text,
  })
  onTestFinished(() => system.close({ graceMs: 2_000 }))
  return system
}

function depsOf(db: Db, queue: LostJobsDeps['queue']) {
  return { db, queue, schedules: [SYNC], random: NO_JITTER }
}

/** Empties the tables of the queue, like a flush of Redis, but keeps the version of its schema. */
async function emptyQueue(db: Db): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname = 'farewatch_queue' and tablename !~ 'migration|version'
  `.execute(db)
  expect(rows.length).toBeGreaterThan(2)
  await sql`truncate ${sql.raw(rows.map(({ name }) => name).join(', '))} cascade`.execute(db)
}

/** The jobs that a worker gets until the queue is empty. */
async function workOff(system: QueueSystem, queue: string): Promise<unknown[]> {
  const payloads: unknown[] = []
  const handle = await system.work(queue, async (payload) => void payloads.push(payload))
  await until(`${queue} is empty`, async () => {
    const { waiting, active } = await system.counts(queue)
    return payloads.length > 0 && waiting === 0 && active === 0
  })
  await handle.close(1_000)
  return payloads
}

describe('the lost jobs of a queue on Postgres', () => {
  it('are enqueued once after the tables of the queue were emptied', async ({
    db,
    databaseUrl,
  }) => {
    const dueAt = await saveDue(db, [SYNC])
    const queue = openQueue(databaseUrl)
    await enqueueDueSchedules(depsOf(db, queue))
    expect(await queue.counts('syncs')).toMatchObject({ waiting: 1 })

    await emptyQueue(db)
    expect(await queue.counts('syncs')).toMatchObject({ waiting: 0 })
    for (let i = 0; i < 2; i += 1) await enqueueLostJobs(depsOf(db, queue))

    expect(await workOff(queue, 'syncs')).toEqual([{ list: 'sync', dueAt: dueAt.toISOString() }])
  })

  it('are not those that have run', async ({ db, databaseUrl }) => {
    await saveDue(db, [SYNC])
    const queue = openQueue(databaseUrl)
    await enqueueDueSchedules(depsOf(db, queue))
    await workOff(queue, 'syncs')

    await enqueueLostJobs(depsOf(db, queue))

    expect(await queue.counts('syncs')).toMatchObject({ waiting: 0, completed: 1 })
  })
})

describe('lost jobs', () => {
  it.for([{ waiting: 1 }, { active: 1 }, { delayed: 1 }, { failed: 1 }, { completed: 1 }])(
    'do not exist while the queue holds any job: %o',
    async (counts, { db }) => {
      await saveDue(db, [SYNC])
      await enqueueDueSchedules(depsOf(db, createRecorder()))
      const recorder = createRecorder(counts)

      await enqueueLostJobs(depsOf(db, recorder))

      expect(recorder.jobs).toEqual([])
    },
  )

  it('do not include one of a schedule that is due now', async ({ db }) => {
    await saveDue(db, [SYNC])
    await enqueueDueSchedules(depsOf(db, createRecorder()))
    await sql`update schedule set next_due_at = now() - interval '1 minute'`.execute(db)
    const recorder = createRecorder()

    await enqueueLostJobs(depsOf(db, recorder))

    expect(recorder.jobs).toEqual([])
  })

  it('do not include one of a schedule without an enqueued due time', async ({ db }) => {
    await sql`insert into schedule values ('sync', ${SYNC.cron}, now() + interval '1 hour')`.execute(
      db,
    )
    const recorder = createRecorder()

    await enqueueLostJobs(depsOf(db, recorder))

    expect(recorder.jobs).toEqual([])
  })
})
