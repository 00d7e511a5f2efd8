import { describe, expect, it, onTestFinished } from 'vitest'
import { createFeedHeads, type FeedHeads } from '../../src/feeds/feed-heads.ts'
import { until } from '../support/until.ts'

const LONG_MS = 60_000

/** A watcher of feeds whose heads the test moves, and the feeds of each query. */
function headsOver(
  heads: Map<number, number>,
  options: { maxWaiting?: number; everyMs?: number } = {},
) {
  const queries: (readonly number[])[] = []
  const feedHeads = createFeedHeads<number>({
    everyMs: 5,
    readHeads: async (ids) => {
      queries.push(ids)
      return heads
    },
    ...options,
  })
  onTestFinished(() => feedHeads.close())
  return { feedHeads, queries }
}

function wait(
  feedHeads: FeedHeads<number>,
  given: Partial<Parameters<FeedHeads<number>['wait']>[0]> = {},
) {
  const { signal } = new AbortController()
  return feedHeads.wait({ feed: 1, after: 0, ms: LONG_MS, signal, ...given })
}

describe('the watcher of feed heads', () => {
  it('a wait ends as soon as its feed has more, and not for another feed', async () => {
    const heads = new Map([[1, 0]])
    const { feedHeads, queries } = headsOver(heads)
    const ended: number[] = []
    const first = wait(feedHeads, { feed: 1 }).then(() => ended.push(1))
    const second = wait(feedHeads, { feed: 2, after: 7 }).then(() => ended.push(2))

    heads.set(1, 1).set(2, 7)
    await first
    const rounds = queries.length
    await until('another query', () => queries.length > rounds)
    expect(ended).toEqual([1])

    heads.set(2, 8)
    await second
    expect(ended).toEqual([1, 2])
  })

  it('a wait ends at once when its feed grew before the wait began', async () => {
    const { feedHeads, queries } = headsOver(new Map([[1, 8]]), { everyMs: LONG_MS })

    expect(await wait(feedHeads, { after: 7 })).toBe(true)

    const { length } = queries
    const another = wait(feedHeads, { after: 8 })
    await until('the query at the start of the second wait', () => queries.length > length)
    const late = wait(feedHeads, { after: 7 })
    expect(await late).toBe(true)
    feedHeads.close()
    expect(await another).toBe(false)
  })

  it('a notification for a feed, or for all, ends the waits whose feeds have grown at once', async () => {
    const heads = new Map<number, number>()
    const { feedHeads, queries } = headsOver(heads, { everyMs: LONG_MS })
    const waits = [wait(feedHeads, { feed: 1 }), wait(feedHeads, { feed: 2 })]
    await until('a first query', () => queries.length > 0)

    heads.set(1, 1)
    feedHeads.readNow(1)
    expect(await waits[0]).toBe(true)
    heads.set(2, 1)
    feedHeads.readNow()
    expect(await waits[1]).toBe(true)
  })

  it('a wait ends with false when the time is up, the client leaves, or the watcher closes', async () => {
    const { feedHeads } = headsOver(new Map())
    const client = new AbortController()
    const left = wait(feedHeads, { signal: client.signal })
    const closed = wait(feedHeads)

    client.abort()
    expect(await wait(feedHeads, { ms: 1 })).toBe(false)
    expect(await left).toBe(false)
    feedHeads.close()

    expect(await closed).toBe(false)
    expect(await wait(feedHeads)).toBe(false)
    expect(await wait(feedHeads, { signal: client.signal })).toBe(false)
  })

  it('a thousand waits run one query at a time, each feed once in it, and none when all have ended', async () => {
    const heads = new Map<number, number>()
    const { feedHeads, queries } = headsOver(heads)
    const waits = Array.from({ length: 1_000 }, (_, i) =>
      wait(feedHeads, { feed: i % 25, after: i }),
    )
    await until('some queries', () => queries.length >= 3)

    expect(queries.every((ids) => ids.length === 25 && new Set(ids).size === 25)).toBe(true)
    for (let id = 0; id < 25; id += 1) heads.set(id, 1_000)
    await Promise.all(waits)
    const rounds = queries.length
    await wait(feedHeads, { feed: 99, ms: 20 })
    expect(queries.slice(rounds).every((ids) => ids.length === 1)).toBe(true)
  })
})
