import { describe, expect } from 'vitest'
import { createMetrics } from '../../../src/platform/metrics/metrics.ts'
import { readScheduleGauges, saveSchedules } from '../../../src/platform/ticks/schedules.ts'
import { it } from '../../support/test-database.ts'
import { aSchedule, NO_JITTER, rowOf } from './schedule-fixtures.ts'

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
