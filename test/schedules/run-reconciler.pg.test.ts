import { expect } from 'vitest'
import type { Clock } from '../../src/base/clock.ts'
import type { Db } from '../../src/db/database.ts'
import { type ReconcilerDeps, runReconciler } from '../../src/schedules/reconciler.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { createRecorder, NO_JITTER } from './schedule-fixtures.ts'

/** A clock whose sleeps end only when a test ends them. */
function createAlarm() {
  const sleeps: number[] = []
  let ring: () => void = () => undefined
  const clock: Clock = {
    now: () => new Date(),
    sleep: (ms, signal) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      ring = resolve
      if (signal?.aborted === true) reject(signal.reason)
      signal?.addEventListener('abort', () => reject(signal.reason))
      sleeps.push(ms)
      return promise
    },
  }
  return { clock, sleeps, ring: () => ring() }
}

/** A running reconciler. Each of its passes upserts one tick. */
function start(db: Db, upsertTick: () => Promise<void> = async () => undefined) {
  const alarm = createAlarm()
  const ending = new AbortController()
  const listeners = new Set<() => void>()
  let passes = 0
  const queue: ReconcilerDeps['queue'] = {
    ...createRecorder(),
    upsertTick: () => {
      passes += 1
      return upsertTick()
    },
    onReconnect: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  const ticks = [{ name: 'schedules', everyMs: 5_000 }]
  const { clock } = alarm
  const deps = { db, queue, ticks, schedules: [], random: NO_JITTER, clock, log: silentLog }
  return {
    alarm,
    listeners,
    passes: () => passes,
    running: runReconciler(deps, ending.signal),
    end: () => ending.abort(),
    asleep: (times: number) => until('the reconciler sleeps', () => alarm.sleeps.length === times),
  }
}

it('the reconciler makes a pass at its start and every minute', async ({ db }) => {
  const { alarm, passes, running, end, asleep } = start(db)

  await asleep(1)
  expect(passes()).toBe(1)
  alarm.ring()
  await asleep(2)
  expect(passes()).toBe(2)
  expect(alarm.sleeps).toEqual([60_000, 60_000])

  end()
  await running
})

it('the reconciler makes a pass at once when the store of the queue reconnects', async ({ db }) => {
  const { listeners, passes, running, end, asleep } = start(db)
  await asleep(1)

  for (const notify of listeners) notify()

  await asleep(2)
  expect(passes()).toBe(2)
  end()
  await running
})

it('the reconciler makes one more pass when the store reconnects during a pass', async ({ db }) => {
  const { promise: upserted, resolve: upsert } = Promise.withResolvers<void>()
  const { listeners, passes, running, end, asleep } = start(db, () => upserted)
  await until('the first pass has started', () => passes() === 1)

  for (const notify of listeners) notify()
  upsert()

  await asleep(2)
  expect(passes()).toBe(2)
  end()
  await running
})

it('the reconciler continues after a failed pass', async ({ db }) => {
  const { alarm, passes, running, end, asleep } = start(db, () =>
    Promise.reject(new Error('the queue is unavailable')),
  )

  await asleep(1)
  alarm.ring()
  await asleep(2)

  expect(passes()).toBe(2)
  end()
  await running
})

it('the reconciler ends when its signal aborts, and removes its listener', async ({ db }) => {
  const { listeners, running, end, asleep } = start(db)
  await asleep(1)
  expect(listeners.size).toBe(1)

  end()
  await running

  expect(listeners.size).toBe(0)
})
