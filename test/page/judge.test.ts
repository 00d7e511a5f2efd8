import { describe, expect, it } from 'vitest'

/** The page's modules have no types for TypeScript: they are checked on their own, with those of browsers. */
async function load<T>(name: string): Promise<T> {
  return (await import(new URL(`../../src/page/${name}`, import.meta.url).href)) as T
}

interface Judged {
  readonly state: string
  readonly level: string
}
const { judgeList, judgeUpstream } = await load<{
  judgeList(list: object, now: number): Judged
  judgeUpstream(status: object): Judged
}>('judge.js')
const { durationText } = await load<{ durationText(seconds: number): string }>('times.js')

const NOW = Date.parse('2027-01-02T12:00:00Z')
const ago = (minutes: number) => new Date(NOW - minutes * 60_000).toISOString()

describe('the state of a list', () => {
  it.each([
    ['good', { nextDueAt: ago(-5), lastAttemptAt: ago(5), lastSuccessAt: ago(5) }],
    ['never', { nextDueAt: ago(0), lastAttemptAt: null, lastSuccessAt: null }],
    ['late', { nextDueAt: ago(11), lastAttemptAt: ago(60), lastSuccessAt: ago(60) }],
    ['failing', { nextDueAt: ago(-1), lastAttemptAt: ago(1), lastSuccessAt: ago(60) }],
    ['failing', { nextDueAt: ago(-1), lastAttemptAt: ago(1), lastSuccessAt: null }],
  ])('is %s', (state, list) => {
    expect(judgeList(list, NOW).state).toBe(state)
  })
})

describe('the state of the upstream', () => {
  const well = {
    at: ago(0),
    upstream: { pausedUntil: null, openBreakers: [] },
    lists: [{ lastSuccessAt: ago(5) }],
    beliefs: { ageSeconds: null },
    budget: { checksLastMinute: 10, unknownLastMinute: 0 },
  }

  it('is not said to answer before a call had an answer', () => {
    const status = { ...well, lists: [{ lastSuccessAt: null }] }
    expect(judgeUpstream(status)).toMatchObject({ state: 'unknown', level: 'idle' })
    expect(judgeUpstream(well)).toMatchObject({ state: 'good', level: 'good' })
  })

  it('is not said to answer while most checks have no good answer', () => {
    const budget = { checksLastMinute: 10, unknownLastMinute: 6 }
    expect(judgeUpstream({ ...well, budget })).toMatchObject({ state: 'silent', silentShare: 0.6 })
  })
})

describe('a length of time', () => {
  it.each([
    [42, '42 s'],
    [5 * 60, '5 min'],
    [3 * 3600 + 59 * 60 + 45, '4 h'],
    [3 * 3600 + 10 * 60, '3 h 10 min'],
    [2 * 86_400 + 23 * 3600 + 50 * 60, '3 d'],
  ])('of %d s is rounded before it is divided', (seconds, text) => {
    expect(durationText(seconds).replaceAll('\u00A0', ' ')).toBe(text)
  })
})
