import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/platform/base/clock.ts'
import { DEFAULT_TIMINGS } from '../../../src/platform/queue/queue-connection.ts'
import { createWorkerErrors } from '../../../src/platform/queue/store-monitor.ts'
import { aLog } from './queue-fixtures.ts'

function aStage() {
  const book = aLog()
  const time = { ms: 0 }
  const clock = { ...systemClock, now: () => new Date(time.ms) }
  const errors = createWorkerErrors({ log: book.log, clock, timings: DEFAULT_TIMINGS })
  const logged = () => book.lines().map((line) => JSON.parse(line) as Record<string, unknown>)
  return { time, errors, logged }
}

function refused(): Error {
  return Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:6379'), { code: 'ECONNREFUSED' })
}

describe('the errors of workers', () => {
  it('are logged when they begin, once a minute, and when they are over, for all queues together', () => {
    const { time, errors, logged } = aStage()

    for (; time.ms < 80_000; time.ms += 100) {
      for (const queue of ['verify', 'ticks']) errors.record(queue, refused())
    }
    errors.recordAnswer()
    time.ms = 85_000
    errors.recordAnswer()
    errors.recordAnswer()

    expect(logged().map(({ msg, suppressed, lastedMs }) => [msg, suppressed, lastedMs])).toEqual([
      ['queue worker error', 0, undefined],
      ['queue worker error', 1_199, undefined],
      ['queue worker error is over', 399, 79_900],
    ])
  })

  it.each([
    refused(),
    new Error('Connection is closed.'),
    new Error('connection closed'),
    new Error('Connection terminated unexpectedly'),
    Object.assign(new Error('terminating connection'), { code: '57P01' }),
  ])('are logged without a stack when the store is down: %s', (err) => {
    const { errors, logged } = aStage()

    errors.record('verify', err)

    expect(logged()[0]).toMatchObject({ level: 'warn', reason: err.message })
    expect(JSON.stringify(logged())).not.toContain('worker-errors.test')
  })

  it('are logged with queue and stack when they are bugs, even during an outage', () => {
    const { time, errors, logged } = aStage()

    errors.record('ticks', refused())
    errors.record('verify', new TypeError('a bug'))
    time.ms = 5_000
    errors.recordAnswer()

    expect(logged().map(({ queue, msg }) => [queue, msg])).toEqual([
      [undefined, 'queue worker error'],
      ['verify', 'queue worker error'],
      [undefined, 'queue worker error is over'],
      ['verify', 'queue worker error is over'],
    ])
    expect(logged()[1]).toMatchObject({ queue: 'verify', err: { name: 'TypeError' } })
    expect(JSON.stringify(logged()[1])).toContain('worker-errors.test')
  })

  it('are logged no more often when they come and go', () => {
    const { time, errors, logged } = aStage()

    for (; time.ms <= 60_000; time.ms += 10_000) {
      errors.record('verify', refused())
      time.ms += 5_000
      errors.recordAnswer()
    }

    expect(logged().map(({ msg, suppressed }) => [msg, suppressed])).toEqual([
      ['queue worker error', 0],
      ['queue worker error is over', 0],
      ['queue worker error', 3],
      ['queue worker error is over', 0],
    ])
  })
})
