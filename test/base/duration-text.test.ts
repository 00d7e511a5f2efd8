import { expect, it } from 'vitest'
import { durationText } from '../../src/base/duration-text.ts'

it.each([
  [0, '0 s'],
  [-5_000, '0 s'],
  [499, '0 s'],
  [59_400, '59 s'],
  [59_600, '1 min'],
  [61_000, '1 min'],
  [3_599_000, '59 min'],
  [3_600_000, '1 h'],
  [11_100_000, '3 h 5 min'],
  [86_400_000, '1 d'],
  [183_600_000, '2 d 3 h'],
])('%d ms are %s', (ms, text) => {
  expect(durationText(ms)).toBe(text)
})
