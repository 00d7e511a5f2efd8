import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/platform/base/clock.ts'
import { createWorkerErrors } from '../../../src/platform/queue/job-worker.ts'
import { aLog } from './queue-fixtures.ts'

function aStage() {
  const book = aLog()
  const time = { ms: 0 }
  const clock = { ...systemClock, now: () => new Date(time.ms) }
  const errors = createWorkerErrors(book.log, clock)
  const logged = () => book.lines().map((line) => JSON.parse(line) as Record<string, unknown>)
  return { time, errors, logged }
}

function refused(): Error {
  return Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:6379'), { code: 'ECONNREFUSED' })
}

describe('the errors of workers', () => {
  it('are logged when they begin and when they are over, for all queues together', () => {
    const { time, errors, logged } = aStage()

    for (; time.ms < 80_000; time.ms += 100) {
      for (const queue of ['verify', 'periodic']) errors.record(queue, refused())
    }
    errors.recordAnswer()
    time.ms = 140_000
    errors.recordAnswer()
    errors.recordAnswer()

    expect(logged()).toMatchObject([
      { msg: 'queue worker error', code: 'ECONNREFUSED' },
      { msg: 'queue worker error is over', errors: 1_600, lastedMs: 79_900 },
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
})
