import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { DEFAULT_TIMINGS } from '../../src/queue/queue-context.ts'
import { createWorkerErrors } from '../../src/queue/throttled-log.ts'
import { aLog } from './queue-fixtures.ts'

function aStage() {
  const book = aLog()
  const time = { ms: 0 }
  const clock = { ...systemClock, now: () => new Date(time.ms) }
  const errors = createWorkerErrors({ log: book.log, clock, timings: DEFAULT_TIMINGS })
  const said = () => book.lines().map((line) => JSON.parse(line) as Record<string, unknown>)
  return { time, errors, said }
}

function refused(): Error {
  return Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:6379'), { code: 'ECONNREFUSED' })
}

describe('the errors of workers', () => {
  it('are told when they begin, once a minute, and when they are over, of all queues together', () => {
    const { time, errors, said } = aStage()

    for (; time.ms < 80_000; time.ms += 100) {
      for (const queue of ['verify', 'ticks']) errors.note(queue, refused())
    }
    errors.answered()
    time.ms = 85_000
    errors.answered()
    errors.answered()

    expect(said().map(({ msg, suppressed, lastedMs }) => [msg, suppressed, lastedMs])).toEqual([
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
  ])('are told without a stack where the store is away: %s', (err) => {
    const { errors, said } = aStage()

    errors.note('verify', err)

    expect(said()[0]).toMatchObject({ level: 'warn', reason: err.message })
    expect(JSON.stringify(said())).not.toContain('throttled-log.test')
  })

  it('are told with queue and stack where they are another thing, also amid an outage', () => {
    const { time, errors, said } = aStage()

    errors.note('ticks', refused())
    errors.note('verify', new TypeError('a bug'))
    time.ms = 5_000
    errors.answered()

    expect(said().map(({ queue, msg }) => [queue, msg])).toEqual([
      [undefined, 'queue worker error'],
      ['verify', 'queue worker error'],
      [undefined, 'queue worker error is over'],
      ['verify', 'queue worker error is over'],
    ])
    expect(said()[1]).toMatchObject({ queue: 'verify', err: { name: 'TypeError' } })
    expect(JSON.stringify(said()[1])).toContain('throttled-log.test')
  })

  it('that come and go are told no more often than those that stay', () => {
    const { time, errors, said } = aStage()

    for (; time.ms <= 60_000; time.ms += 10_000) {
      errors.note('verify', refused())
      time.ms += 5_000
      errors.answered()
    }

    expect(said().map(({ msg, suppressed }) => [msg, suppressed])).toEqual([
      ['queue worker error', 0],
      ['queue worker error is over', 0],
      ['queue worker error', 3],
      ['queue worker error is over', 0],
    ])
  })
})
