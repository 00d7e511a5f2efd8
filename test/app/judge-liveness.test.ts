import { describe, expect, it } from 'vitest'
import { judgeLiveness } from '../../src/app/judge-liveness.ts'

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1000)
const tick = (seconds: number) => ({ says: 'no tick has ended', at: at(seconds), limitMs: 60_000 })
const poll = (seconds: number) => ({ says: 'nobody polls', at: at(seconds), limitMs: 30_000 })

describe('a process', () => {
  it('is alive while everything moves within its limit', () => {
    expect(judgeLiveness([tick(0), poll(50)], { now: at(60), soundSince: at(0) })).toBeNull()
  })

  it('is wedged when one thing stands still for longer, and says which', () => {
    expect(judgeLiveness([poll(50), tick(0)], { now: at(61), soundSince: at(-100) })).toBe(
      'no tick has ended for 61 s though the stores answer',
    )
  })

  it('is not blamed for the time in which a store was away', () => {
    const signs = [tick(0), poll(0)]

    expect(judgeLiveness(signs, { now: at(600), soundSince: at(571) })).toBeNull()
    expect(judgeLiveness(signs, { now: at(602), soundSince: at(571) })).toBe(
      'nobody polls for 602 s though the stores answer',
    )
  })

  it('is alive where nothing is to move', () => {
    expect(judgeLiveness([], { now: at(1e9), soundSince: at(0) })).toBeNull()
  })
})
