import { describe, expect, it, onTestFinished } from 'vitest'
import { createFeedWatch, type FeedWatch } from '../../src/changes/feed-watch.ts'
import { until } from '../support/until.ts'

const LONG_MS = 60_000

/** A watch over feeds whose heads the test moves, and how often, and of whom, it asked. */
function watchOver(heads: Map<number, number>, options: { maxWaiting?: number } = {}) {
  const asked: (readonly number[])[] = []
  const feedWatch = createFeedWatch({
    everyMs: 5,
    readHeads: async (ids) => {
      asked.push(ids)
      return heads
    },
    ...options,
  })
  onTestFinished(() => feedWatch.close())
  return { feedWatch, asked }
}

function wait(feedWatch: FeedWatch, given: Partial<Parameters<FeedWatch['wait']>[0]> = {}) {
  const { signal } = new AbortController()
  return feedWatch.wait({ resellerId: 1, after: 0, ms: LONG_MS, signal, ...given })
}

describe('a wait', () => {
  it('ends as soon as the feed has more, and not for another feed', async () => {
    const heads = new Map([[1, 0]])
    const { feedWatch, asked } = watchOver(heads)
    const ended: number[] = []
    const first = wait(feedWatch, { resellerId: 1 }).then(() => ended.push(1))
    const second = wait(feedWatch, { resellerId: 2, after: 7 }).then(() => ended.push(2))

    heads.set(1, 1).set(2, 7)
    await first
    const rounds = asked.length
    await until('another look', () => asked.length > rounds)
    expect(ended).toEqual([1])

    heads.set(2, 8)
    await second
    expect(ended).toEqual([1, 2])
  })

  it('ends without news when the time is up, the client leaves, or the watch closes', async () => {
    const { feedWatch } = watchOver(new Map())
    const client = new AbortController()
    const left = wait(feedWatch, { signal: client.signal })
    const closed = wait(feedWatch)

    client.abort()
    expect(await wait(feedWatch, { ms: 1 })).toBe(false)
    expect(await left).toBe(false)
    feedWatch.close()

    expect(await closed).toBe(false)
    expect(await wait(feedWatch)).toBe(false)
    expect(await wait(feedWatch, { signal: client.signal })).toBe(false)
  })

  it('is one of as many as a reseller may have, whatever others have', async () => {
    const heads = new Map<number, number>()
    const { feedWatch } = watchOver(heads, { maxWaiting: 2 })
    const waiting = [wait(feedWatch), wait(feedWatch), wait(feedWatch, { resellerId: 2 })]

    expect(await wait(feedWatch)).toBe(false)

    heads.set(1, 1).set(2, 1)
    expect(await Promise.all(waiting)).toEqual([true, true, true])
  })

  it('ends with news when the question fails: who waits finds out why', async () => {
    const feedWatch = createFeedWatch({
      everyMs: 1,
      readHeads: () => Promise.reject(new Error('the database is away')),
    })

    expect(await wait(feedWatch)).toBe(true)
  })
})

describe('a thousand waits', () => {
  it('are one question at a time, of each reseller once, and none when nobody waits', async () => {
    const heads = new Map<number, number>()
    const { feedWatch, asked } = watchOver(heads)
    const waits = Array.from({ length: 1_000 }, (_, i) =>
      wait(feedWatch, { resellerId: i % 25, after: i }),
    )
    await until('some questions', () => asked.length >= 3)

    expect(asked.every((ids) => ids.length === 25 && new Set(ids).size === 25)).toBe(true)
    for (let id = 0; id < 25; id += 1) heads.set(id, 1_000)
    await Promise.all(waits)
    const rounds = asked.length
    const one = wait(feedWatch, { resellerId: 99, ms: 20 })
    expect(asked.length).toBe(rounds)
    await one
    expect(asked.slice(rounds).every((ids) => ids.length === 1)).toBe(true)
  })
})
