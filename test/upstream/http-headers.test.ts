import { expect, it } from 'vitest'
import { retryAfterMs } from '../../src/upstream/transport/http-headers.ts'

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
])('reads %j as %j ms', (header, expected) => {
  expect(retryAfterMs(header, { now, answeredAt: undefined, maxMs })).toBe(expected)
})

it('counts a date from the date of the answer, whatever our clock says', () => {
  const answeredAt = 'Sun, 01 Mar 2026 12:10:00 GMT'

  const waitMs = retryAfterMs('Sun, 01 Mar 2026 12:10:30 GMT', { now, answeredAt, maxMs })

  expect(waitMs).toBe(30_000)
})

it('counts from our clock when the date of the answer is none', () => {
  const waitMs = retryAfterMs('Sun, 01 Mar 2026 12:00:30 GMT', { now, answeredAt: '?', maxMs })

  expect(waitMs).toBe(30_000)
})
