import { describe, expect, onTestFinished } from 'vitest'
import { nextDueAt } from '../../../src/platform/base/cron.ts'
import { type Db, sql } from '../../../src/platform/db/database.ts'
import { createMetrics } from '../../../src/platform/metrics/metrics.ts'
import { createQueueSystem, type QueueSystem } from '../../../src/platform/queue/queue-system.ts'
import {
  type DueDeps,
  enqueueDueSchedules,
  enqueueLostJobs,
  hasLaterDueTime,
  type LostJobsDeps,
  readScheduleGauges,
  saveSchedules,
} from '../../../src/platform/ticks/schedules.ts'
import { silentLog } from '../../support/silent-log.ts'
import { it } from '../../support/test-database.ts'
import { until } from '../../support/until.ts'
import { aSchedule, createRecorder, NO_JITTER, rowOf, saveDue } from './schedule-fixtures.ts'

const NOW = new Date('2026-01-01T00:30:00Z')
const AT_NOW = { now: NOW, random: NO_JITTER }

describe('saving the configured schedules', () => {
  it('a new schedule is due soon, before the first match of its pattern', async ({ db }) => {
    const soon = aSchedule('soon', { firstAfterMs: 15_000 })

    await saveSchedules(db, [aSchedule('at-once'), soon], AT_NOW)

    expect(await rowOf(db, 'at-once')).toEqual({
      cron: '0 0 1 1 *',
      next_due_at: NOW,
      last_due_at: null,
    })
    expect((await rowOf(db, 'soon')).next_due_at).toEqual(new Date('2026-01-01T00:30:15Z'))
  })

  it('an unchanged schedule keeps its due time, even if it has passed', async ({ db }) => {
    await saveSchedules(db, [aSchedule('sync')], AT_NOW)

    await saveSchedules(db, [aSchedule('sync', { firstAfterMs: 99_000 })], {
      now: new Date('2026-03-01T00:00:00Z'),
      random: NO_JITTER,
    })

    expect((await rowOf(db, 'sync')).next_due_at).toEqual(NOW)
  })

  it('a schedule with a changed pattern is due by the new pattern, with jitter', async ({ db }) => {
    await saveSchedules(db, [aSchedule('sync'), aSchedule('other')], AT_NOW)

    await saveSchedules(db, [aSchedule('sync', { cron: '0 9 * * *' }), aSchedule('other')], {
      now: NOW,
      random: () => 0.5,
    })

    expect(await rowOf(db, 'sync')).toEqual({
      cron: '0 9 * * *',
      next_due_at: new Date('2026-01-01T09:02:30Z'),
      last_due_at: null,
    })
    expect((await rowOf(db, 'other')).next_due_at).toEqual(NOW)
  })

  it('ten processes that start at the same moment save a schedule once', async ({ db }) => {
    const starts = Array.from({ length: 10 }, (_, i) =>
      saveSchedules(db, [aSchedule('sync', { firstAfterMs: i })], AT_NOW),
    )

    await Promise.all(starts)

    const offset = (await rowOf(db, 'sync')).next_due_at.getTime() - NOW.getTime()
    expect(offset).toBeGreaterThanOrEqual(0)
    expect(offset).toBeLessThan(10)
  })

  it('the metrics show the due time of a schedule', async ({ db }) => {
    await saveSchedules(db, [aSchedule('sync')], AT_NOW)
    const metrics = createMetrics()

    await readScheduleGauges(db, metrics)

    const { values } = await metrics.scheduleDue.get()
    expect(values).toMatchObject([{ labels: { schedule: 'sync' }, value: NOW.getTime() / 1_000 }])
  })
})

const HOUR_MS = 3_600_000
const SYNC = aSchedule('sync', { payload: { list: 'routes' } })

describe('enqueueing due schedules', () => {
  it('a due schedule gets one job and moves to its next due time', async ({ db }) => {
    const dueAt = await saveDue(db, [SYNC])
    const queue = createRecorder()

    const names = await enqueueDueSchedules({ db, queue, schedules: [SYNC], random: NO_JITTER })

    const id = `sync@${dueAt.getTime()}`
    expect(names).toEqual(['sync'])
    expect(queue.jobs).toMatchObject([
      { queue: 'syncs', id, payload: { list: 'routes', dueAt: dueAt.toISOString() } },
    ])
    expect(await rowOf(db, 'sync')).toEqual({
      cron: SYNC.cron,
      next_due_at: nextDueAt(SYNC.cron, dueAt, NO_JITTER),
      last_due_at: dueAt,
    })
    expect(await enqueueDueSchedules({ db, queue, schedules: [SYNC], random: NO_JITTER })).toEqual(
      [],
    )
  })

  it('a due time makes one job when ten processes tick at the same moment', async ({ db }) => {
    await saveDue(db, [SYNC])
    const recorder = createRecorder()
    const { promise: othersDone, resolve } = Promise.withResolvers<void>()
    let idle = 0
    const queue: DueDeps['queue'] = {
      enqueue: async (name, job) => {
        await othersDone
        await recorder.enqueue(name, job)
      },
    }
    const tick = async () => {
      const names = await enqueueDueSchedules({ db, queue, schedules: [SYNC], random: NO_JITTER })
      if (names.length === 0) idle += 1
      if (idle === 9) resolve()
      return names
    }

    const ticks = await Promise.all(Array.from({ length: 10 }, tick))

    expect(ticks.flat()).toEqual(['sync'])
    expect(recorder.jobs).toHaveLength(1)
  })

  it('a schedule that missed several due times gets one job', async ({ db }) => {
    const schedules = [aSchedule('sync', { cron: '0 0 * * *' })]
    const dueAt = await saveDue(db, schedules, 72 * HOUR_MS)
    const queue = createRecorder()
    const tick = () => enqueueDueSchedules({ db, queue, schedules, random: NO_JITTER })

    await tick()
    await tick()

    expect(queue.ids()).toEqual([`sync@${dueAt.getTime()}`])
    const { next_due_at: next } = await rowOf(db, 'sync')
    expect(next.getTime()).toBeGreaterThan(dueAt.getTime() + 72 * HOUR_MS)
  })

  it('a schedule is next due in the future, by its own pattern and jitter', async ({ db }) => {
    const everySecond = aSchedule('fast', { cron: '* * * * * *' })
    await saveDue(db, [SYNC, everySecond])
    const schedules = [SYNC, everySecond]

    await enqueueDueSchedules({ db, queue: createRecorder(), schedules, random: () => 0.5 })

    const { rows } = await sql<{ name: string; inFuture: boolean; ms: number }>`
      select name, next_due_at > last_due_at + interval '1 second' as "inFuture",
             extract(milliseconds from next_due_at)::int % 1000 as ms
        from schedule order by name
    `.execute(db)
    expect(rows).toEqual([
      { name: 'fast', inFuture: true, ms: 50 },
      { name: 'sync', inFuture: true, ms: 0 },
    ])
    expect((await rowOf(db, 'sync')).next_due_at.toISOString()).toMatch(/-01-01T00:02:30\.000Z$/)
  })

  it('a schedule stays due when the queue fails, and gets the job of the same due time later', async ({
    db,
  }) => {
    const dueAt = await saveDue(db, [SYNC])
    const refusing = { enqueue: () => Promise.reject(new Error('the queue is unavailable')) }
    const schedules = [SYNC]

    const refused = enqueueDueSchedules({ db, queue: refusing, schedules, random: NO_JITTER })
    await expect(refused).rejects.toThrow('the queue is unavailable')
    expect(await rowOf(db, 'sync')).toMatchObject({ next_due_at: dueAt, last_due_at: null })

    const queue = createRecorder()
    await enqueueDueSchedules({ db, queue, schedules, random: NO_JITTER })
    expect(queue.ids()).toEqual([`sync@${dueAt.getTime()}`])
  })

  it('a job gets the same id again when the tick that enqueued it did not commit', async ({
    db,
  }) => {
    const schedules = [SYNC, aSchedule('other', { queue: 'broken' })]
    const dueAt = await saveDue(db, schedules)
    const recorder = createRecorder()
    const queue: DueDeps['queue'] = {
      enqueue: (name, job) =>
        name === 'broken' ? Promise.reject(new Error('broken')) : recorder.enqueue(name, job),
    }
    const tick = () => enqueueDueSchedules({ db, queue, schedules, random: NO_JITTER })

    await expect(tick()).rejects.toThrow('broken')
    await expect(tick()).rejects.toThrow('broken')

    expect(new Set(recorder.ids())).toEqual(new Set([`sync@${dueAt.getTime()}`]))
  })
})

describe('a schedule without a job', () => {
  it('a schedule that is not due gets no job', async ({ db }) => {
    const later = aSchedule('later', { firstAfterMs: HOUR_MS })
    await saveSchedules(db, [later], { now: new Date(), random: NO_JITTER })
    const queue = createRecorder()

    await enqueueDueSchedules({ db, queue, schedules: [later], random: NO_JITTER })

    expect(queue.jobs).toEqual([])
  })

  it('a due schedule that this process does not know gets no job', async ({ db }) => {
    const dueAt = await saveDue(db, [aSchedule('of-another-version')])
    const queue = createRecorder()

    await enqueueDueSchedules({ db, queue, schedules: [SYNC], random: NO_JITTER })

    expect(queue.jobs).toEqual([])
    expect((await rowOf(db, 'of-another-version')).next_due_at).toEqual(dueAt)
  })
})

describe('hasLaterDueTime', () => {
  it('a due time has a later one once the later one is enqueued', async ({ db }) => {
    const first = await saveDue(db, [SYNC])
    await enqueueDueSchedules({ db, queue: createRecorder(), schedules: [SYNC], random: NO_JITTER })

    expect(await hasLaterDueTime(db, 'sync', first)).toBe(false)
    expect(await hasLaterDueTime(db, 'sync', new Date(first.getTime() - 1))).toBe(true)
    expect(await hasLaterDueTime(db, 'another', new Date(0))).toBe(false)
  })
})

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

    expect(await workOff(queue, 'syncs')).toEqual([{ list: 'routes', dueAt: dueAt.toISOString() }])
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
  it('do not exist while the queue holds any job', async ({ db }) => {
    await saveDue(db, [SYNC])
    await enqueueDueSchedules(depsOf(db, createRecorder()))

    for (const state of ['waiting', 'active', 'delayed', 'failed', 'completed']) {
      const recorder = createRecorder({ [state]: 1 })
      await enqueueLostJobs(depsOf(db, recorder))
      expect(recorder.jobs, state).toEqual([])
    }
  })

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
