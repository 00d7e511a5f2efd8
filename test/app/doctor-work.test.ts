import { expect, it } from 'vitest'
import { examineBudget, examinePauses } from '../../src/app/doctor/doctor-work.ts'
import type { Status } from '../../src/views/status-shapes.ts'

const AT = new Date('2026-01-31T03:12:07Z')
const before = (hours: number) => new Date(AT.getTime() - hours * 3_600_000)

it('a pause without an end is wrong after twelve hours, as the status says', () => {
  const pause = { what: 'checks', reason: 'tests', by: 'cli', running: true, until: null } as const
  const levelOf = (from: Date, until: Date | null = null) => {
    const pauses = [{ ...pause, from, until }]
    return examinePauses({ pauses, at: AT } as unknown as Status).map(({ level }) => level)
  }

  expect([levelOf(before(11)), levelOf(before(13)), levelOf(before(13), before(-1))]).toEqual([
    ['warning'],
    ['wrong'],
    ['warning'],
  ])
})

it('a budget that operators have limited is wrong if one check of all fares takes over an hour', () => {
  const levelOf = (fares: number) => {
    const limit = { requestsPerSecond: 1, until: AT, reason: 'tests', by: 'cli' }
    const budget = { requestsPerSecond: 5, share: 1, used: 1, limit }
    const status = { budget, beliefs: { fares }, upstream: { pausedUntil: null }, at: AT }
    return examineBudget(status as unknown as Status).map(({ level, todo }) => [level, todo])
  }

  const todo = 'bin/farewatch budget limit --off'
  expect([levelOf(3_600), levelOf(3_700)]).toEqual([[['warning', todo]], [['wrong', todo]]])
})
