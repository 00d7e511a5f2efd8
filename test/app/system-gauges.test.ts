import { expect, it } from 'vitest'
import { pauseMsAfter } from '../../src/app/system-gauges.ts'

it('after a slow reading of the gauges the next one begins within half a minute', () => {
  expect([0, 100, 1_000, 9_000].map(pauseMsAfter)).toEqual([0, 2_000, 20_000, 30_000])
})
