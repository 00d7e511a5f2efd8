import { expect, it } from 'vitest'
import { createThrottledWarn } from '../../src/queue/throttled-log.ts'
import { aLog } from './queue-fixtures.ts'

it('says each message once in a while, and how often it held its tongue', () => {
  const book = aLog()
  let now = 0
  const warn = createThrottledWarn(book.log, 5_000, () => now)

  for (now = 0; now <= 5_000; now += 100) warn('store lost', new Error(`at ${now}`))
  warn('another thing', new Error('once'))

  const said = book.lines().map((line) => JSON.parse(line))
  expect(said.map(({ msg, suppressed }) => [msg, suppressed])).toEqual([
    ['store lost', 0],
    ['store lost', 49],
    ['another thing', 0],
  ])
})
