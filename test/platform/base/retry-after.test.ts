import { expect, it } from 'vitest'
import { retryAfterMs } from '../../../src/platform/base/retry-after.ts'

const now = new Date('2026-03-01T12:00:00Z')
const maxMs = 900_000

it.each([
  ['30', 30_000],
  [' 30 ', 30_000],
  ['0', 0],
  ['1.5', 1_500],
  ['1000000000', maxMs],
  ['1e9', maxMs],
  ['9'.repeat(400), maxMs],
  ['Sun, 01 Mar 2026 12:00:30 GMT', 30_000],
  ['Sunday, 01-Mar-26 12:00:30 GMT', 30_000],
  ['Sun Mar  1 12:00:30 2026', 30_000],
  ['Sun, 01 Mar 2026 11:00:00 GMT', 0],
  ['Fri, 01 Mar 2999 12:00:00 GMT', maxMs],
  [undefined, undefined],
  ['', undefined],
  ['-5', undefined],
  ['soon', undefined],
  ['12 apples', undefined],
  ['2026-03-01T12:00:30Z', undefined],
  ['Sun, 99 Foo 2026 12:00:30 GMT', undefined],
])('the header %j asks for %j ms', (header, expected) => {
  expect(retryAfterMs(header, { now, answeredAt: undefined, maxMs })).toBe(expected)
})

it('a date is compared with the Date header of the answer, not with our clock', () => {
  const answeredAt = 'Sun, 01 Mar 2026 12:10:00 GMT'

  const waitMs = retryAfterMs('Sun, 01 Mar 2026 12:10:30 GMT', { now, answeredAt, maxMs })

  expect(waitMs).toBe(30_000)
})

it('a date is compared with our clock if the Date header is invalid', () => {
  const waitMs = retryAfterMs('Sun, 01 Mar 2026 12:00:30 GMT', { now, answeredAt: '?', maxMs })

  expect(waitMs).toBe(30_000)
})
