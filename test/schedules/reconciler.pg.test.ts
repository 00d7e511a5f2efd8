import { describe, expect, onTestFinished } from 'vitest'
import { type Db, sql } from '../../src/db/database.ts'
import { withSessionLock } from '../../src/db/session-lock.ts'
import { createQueueSystem, type QueueSystem } from '../../src/queue/queue-system.ts'
import { enqueueDueSchedules } from '../../src/schedules/enqueue-schedules.ts'
import { type ReconcilerDeps, reconcile, TICK_QUEUE } from '../../src/schedules/reconciler.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { aSchedule, createRecorder, NO_JITTER, saveDue } from './schedule-fixtures.ts'

const SYNC = aSchedule('sync')
const clock = { now: () => new Date(), sleep: () => Promise.reject(new Error('no test sleeps')) }

function openQueue(url: string): QueueSystem {
  const system = createQueueSystem({
    connection: { kind: 'postgres', url },
    log: silentLog,
    scrub: (text) => text,
  })
  onTestFinished(() => system.close({ graceMs: 2_000 }))
  return system
}

function depsOf(db: Db, queue: ReconcilerDeps['queue']): ReconcilerDeps {
  const ticks = [
    { name: 'schedules', everyMs: 3_600_000 },
    { name: 'dispatch', everyMs: 3_600_000 },
  ]
  return { db, queue, schedules: [SYNC], ticks, random: NO_JITTER, clock, log: silentLog }
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

describe('reconciling a queue on Postgres', () => {
  it('several passes give the queue its ticks and each due job once', async ({
    db,
    databaseUrl,
  }) => {
    const dueAt = await saveDue(db, [SYNC])
    const queue = openQueue(databaseUrl)

    for (let i = 0; i < 3; i += 1) await reconcile(depsOf(db, queue))

    expect(await workOff(queue, 'syncs')).toEqual([{ list: 'sync', dueAt: dueAt.toISOString() }])
    expect(new Set(await workOff(queue, TICK_QUEUE))).toEqual(
      new Set([{ tick: 'schedules' }, { tick: 'dispatch' }]),
    )
  })

  it('a pass restores the ticks and the enqueued job after the tables of the queue were emptied', async ({
    db,
    databaseUrl,
  }) => {
    const dueAt = await saveDue(db, [SYNC])
    const queue = openQueue(databaseUrl)
    const deps = depsOf(db, queue)
    await reconcile(deps)
    expect(await queue.counts('syncs')).toMatchObject({ waiting: 1 })

    await emptyQueue(db)
    expect(await queue.counts('syncs')).toMatchObject({ waiting: 0 })
    expect(await queue.counts(TICK_QUEUE)).toMatchObject({ waiting: 0, delayed: 0 })
    await reconcile(deps)
    await reconcile(deps)

    expect(await workOff(queue, 'syncs')).toEqual([{ list: 'sync', dueAt: dueAt.toISOString() }])
    expect(await workOff(queue, TICK_QUEUE)).toHaveLength(2)
  })

  it('a pass does not restore a job that has run', async ({ db, databaseUrl }) => {
    await saveDue(db, [SYNC])
    const queue = openQueue(databaseUrl)
    await reconcile(depsOf(db, queue))
    await workOff(queue, 'syncs')

    await reconcile(depsOf(db, queue))

    expect(await queue.counts('syncs')).toMatchObject({ waiting: 0, completed: 1 })
  })

  it('a pass does nothing while another process reconciles', async ({ db }) => {
    await saveDue(db, [SYNC])
    const recorder = { ...createRecorder(), upsertTick: () => Promise.reject(new Error('ran')) }

    await withSessionLock(db, 'reconcile', () =>
      reconcile(depsOf(db, { ...recorder, onReconnect: () => () => undefined })),
    )

    expect(recorder.jobs).toEqual([])
  })
})

describe('enqueueing lost jobs', () => {
  const deps = (db: Db, recorder: ReturnType<typeof createRecorder>) =>
    depsOf(db, {
      ...recorder,
      upsertTick: async () => undefined,
      onReconnect: () => () => undefined,
    })

  it.for([{ waiting: 1 }, { active: 1 }, { delayed: 1 }, { failed: 1 }, { completed: 1 }])(
    'no job is lost while the queue holds any job: %o',
    async (counts, { db }) => {
      await saveDue(db, [SYNC])
      await enqueueDueSchedules(deps(db, createRecorder()))
      const recorder = createRecorder(counts)

      await reconcile(deps(db, recorder))

      expect(recorder.jobs).toEqual([])
    },
  )

  it('a schedule that is due now gets its due job alone', async ({ db }) => {
    await saveDue(db, [SYNC])
    await enqueueDueSchedules(deps(db, createRecorder()))
    await sql`update schedule set next_due_at = now() - interval '1 minute'`.execute(db)
    const recorder = createRecorder()

    await reconcile(deps(db, recorder))

    expect(recorder.jobs).toHaveLength(1)
  })

  it('a schedule without an enqueued due time gets no lost job', async ({ db }) => {
    await sql`insert into schedule values ('sync', ${SYNC.cron}, now() + interval '1 hour')`.execute(
      db,
    )
    const recorder = createRecorder()

    await reconcile(deps(db, recorder))

    expect(recorder.jobs).toEqual([])
  })
})
