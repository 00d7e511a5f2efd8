import { UnrecoverableError } from 'bullmq'
import { describe, expect, it } from 'vitest'
import { AppError } from '../../../src/platform/base/errors.ts'
import { createScrub } from '../../../src/platform/base/secrets.ts'
import { toJobError } from '../../../src/platform/queue/queue-errors.ts'

const scrub = createScrub(['token-1234'])

class SlowError extends AppError {
  override readonly name = 'SlowError'
  override readonly code = 'test.slow'
  override readonly retryable: boolean

  constructor(retryable: boolean) {
    super('too slow')
    this.retryable = retryable
  }
}

describe('toJobError', () => {
  it('keeps name, message and frames, clean and scrubbed', () => {
    const thrown = new RangeError('bad \0 \ud800 token-1234')

    const stored = toJobError(thrown, scrub)

    expect(stored.message).toBe('RangeError: bad  \ufffd [redacted]')
    expect(stored.stack).toMatch(/^RangeError: bad .*\n {4}at .*job-errors\.test\.ts/s)
    expect(stored.stack).not.toMatch(/token-1234|\0/)
    expect(stored.cause).toBe(thrown)
  })

  it('makes an expected failure final unless it is retryable', () => {
    expect(toJobError(new SlowError(true), scrub)).not.toBeInstanceOf(UnrecoverableError)
    expect(toJobError(new SlowError(false), scrub)).toBeInstanceOf(UnrecoverableError)
    expect(toJobError(new SlowError(false), scrub).message).toBe('test.slow: too slow')
    expect(toJobError(new TypeError('a bug'), scrub)).not.toBeInstanceOf(UnrecoverableError)
  })

  it.each([[undefined], [null], ['text'], [{ token: 'token-1234' }], [Symbol('s')]])(
    'makes an error of a thrown %s',
    (thrown) => {
      const stored = toJobError(thrown, scrub)

      expect(stored.message).toBe(`thrown value: ${String(thrown)}`)
      expect(stored.message).not.toContain('token-1234')
    },
  )

  it('keeps handlers from controlling BullMQ by their messages', () => {
    const thrown = Object.assign(new Error('bullmq:rateLimitExceeded'), { name: 'DelayedError' })

    const stored = toJobError(thrown, scrub)

    expect(stored.message).toBe('DelayedError: bullmq:rateLimitExceeded')
    expect(stored.name).toBe('Error')
  })
})
