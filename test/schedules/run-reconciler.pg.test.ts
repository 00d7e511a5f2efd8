import { expect } from 'vitest'
import type { Clock } from '../../src/base/clock.ts'
import type { Db } from '../../src/db/database.ts'
import { type ReconcilerDeps, runReconciler } from '../../src/schedules/reconciler.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { createRecorder, NO_JITTER } from './schedule-fixtures.ts'

/** A clock whose sleepers wait until they are told. */
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

/** A reconciler that runs: each of its passes upserts one tick. */
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
    asleep: (times: number) => until('it sleeps', () => alarm.sleeps.length === times),
  }
}

it('the reconciler works at its start, and every minute', async ({ db }) => {
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

it('the reconciler works at once when the store of the queue is back', async ({ db }) => {
  const { listeners, passes, running, end, asleep } = start(db)
  await asleep(1)

  for (const tell of listeners) tell()

  await asleep(2)
  expect(passes()).toBe(2)
  end()
  await running
})

it('the reconciler works once more when the store comes back while it is at work', async ({
  db,
}) => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const { listeners, passes, running, end, asleep } = start(db, () => gate)
  await until('it works', () => passes() === 1)

  for (const tell of listeners) tell()
  open()

  await asleep(2)
  expect(passes()).toBe(2)
  end()
  await running
})

it('the reconciler goes on after a pass that failed', async ({ db }) => {
  const { alarm, passes, running, end, asleep } = start(db, () =>
    Promise.reject(new Error('the queue is away')),
  )

  await asleep(1)
  alarm.ring()
  await asleep(2)

  expect(passes()).toBe(2)
  end()
  await running
})

it('the reconciler ends when it is told to, and listens no more', async ({ db }) => {
  const { listeners, running, end, asleep } = start(db)
  await asleep(1)
  expect(listeners.size).toBe(1)

  end()
  await running

  expect(listeners.size).toBe(0)
})
