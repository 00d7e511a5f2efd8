import { describe, expect } from 'vitest'
import { nextDueAt } from '../../../src/platform/base/cron.ts'
import { sql } from '../../../src/platform/db/database.ts'
import {
  type DueDeps,
  enqueueDueSchedules,
  hasLaterDueTime,
  saveSchedules,
} from '../../../src/platform/ticks/schedules.ts'
import { it } from '../../support/test-database.ts'
import { aSchedule, createRecorder, NO_JITTER, rowOf, saveDue } from './schedule-fixtures.ts'

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
