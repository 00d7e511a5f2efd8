import { describe, expect, it } from 'vitest'
import { AppError, codeOf, messageOf } from '../../../src/platform/base/errors.ts'

class TestError extends AppError {
  override readonly name = 'TestError'
  override readonly code = 'test.broken'
  override readonly retryable = false
}

describe('the description of a thrown value', () => {
  it.each([
    [new Error('broken'), 'broken'],
    [new TestError('broken'), 'broken'],
    [new AggregateError([new Error('one'), new Error('two'), new Error('one')]), 'one; two'],
    [new AggregateError([new Error('one')], 'all failed'), 'all failed'],
    [Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
    [new TypeError(), 'TypeError'],
    ['text', 'text'],
    [undefined, 'undefined'],
    [Symbol('s'), 'Symbol(s)'],
  ])('of %s is its message, or what comes nearest', (thrown, message) => {
    expect(messageOf(thrown)).toBe(message)
  })

  it('has a stable code for an expected failure', () => {
    expect(codeOf(new TestError('broken'))).toBe('test.broken')
    expect(codeOf(Object.assign(new Error('broken'), { code: 'EPIPE' }))).toBe('internal')
    expect(codeOf('text')).toBe('internal')
  })
})
