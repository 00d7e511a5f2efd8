import { describe, expect, it, onTestFinished } from 'vitest'
import { createFeedPoller, type FeedPoller } from '../../src/changes/feed-poller.ts'
import { until } from '../support/until.ts'

const LONG_MS = 60_000

/** A poller of feeds whose heads the test moves, and the resellers of each query. */
function pollerOver(
  heads: Map<number, number>,
  options: { maxWaiting?: number; everyMs?: number } = {},
) {
  const queries: (readonly number[])[] = []
  const feedPoller = createFeedPoller({
    everyMs: 5,
    readHeads: async (ids) => {
      queries.push(ids)
      return heads
    },
    ...options,
  })
  onTestFinished(() => feedPoller.close())
  return { feedPoller, queries }
}

function wait(feedPoller: FeedPoller, given: Partial<Parameters<FeedPoller['wait']>[0]> = {}) {
  const { signal } = new AbortController()
  return feedPoller.wait({ resellerId: 1, after: 0, ms: LONG_MS, signal, ...given })
}

describe('the feed poller', () => {
  it('a wait ends as soon as its feed has more, and not for another feed', async () => {
    const heads = new Map([[1, 0]])
    const { feedPoller, queries } = pollerOver(heads)
    const ended: number[] = []
    const first = wait(feedPoller, { resellerId: 1 }).then(() => ended.push(1))
    const second = wait(feedPoller, { resellerId: 2, after: 7 }).then(() => ended.push(2))

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
    const { feedPoller, queries } = pollerOver(new Map([[1, 8]]), { everyMs: LONG_MS })

    expect(await wait(feedPoller, { after: 7 })).toBe(true)

    const { length } = queries
    const another = wait(feedPoller, { after: 8 })
    await until('the query at the start of the second wait', () => queries.length > length)
    const late = wait(feedPoller, { after: 7 })
    expect(await late).toBe(true)
    feedPoller.close()
    expect(await another).toBe(false)
  })

  it('a notification for a waiting reseller, or for all, ends the waits whose feeds have grown at once', async () => {
    const heads = new Map<number, number>()
    const { feedPoller, queries } = pollerOver(heads, { everyMs: LONG_MS })
    const waits = [wait(feedPoller, { resellerId: 1 }), wait(feedPoller, { resellerId: 2 })]
    await until('a first query', () => queries.length > 0)

    heads.set(1, 1)
    feedPoller.pollNow(1)
    expect(await waits[0]).toBe(true)
    heads.set(2, 1)
    feedPoller.pollNow()
    expect(await waits[1]).toBe(true)
  })

  it('a wait ends with false when the time is up, the client leaves, or the poller closes', async () => {
    const { feedPoller } = pollerOver(new Map())
    const client = new AbortController()
    const left = wait(feedPoller, { signal: client.signal })
    const closed = wait(feedPoller)

    client.abort()
    expect(await wait(feedPoller, { ms: 1 })).toBe(false)
    expect(await left).toBe(false)
    feedPoller.close()

    expect(await closed).toBe(false)
    expect(await wait(feedPoller)).toBe(false)
    expect(await wait(feedPoller, { signal: client.signal })).toBe(false)
  })

  it('a reseller has a limit of waits, whatever others have', async () => {
    const heads = new Map<number, number>()
    const { feedPoller } = pollerOver(heads, { maxWaiting: 2 })
    const waiting = [wait(feedPoller), wait(feedPoller), wait(feedPoller, { resellerId: 2 })]

    expect(await wait(feedPoller)).toBe(false)

    heads.set(1, 1).set(2, 1)
    expect(await Promise.all(waiting)).toEqual([true, true, true])
  })

  it('a wait ends with true when the query fails: its request then meets the error', async () => {
    const feedPoller = createFeedPoller({
      everyMs: 1,
      readHeads: () => Promise.reject(new Error('the database is unavailable')),
    })

    expect(await wait(feedPoller)).toBe(true)
  })

  it('a thousand waits run one query at a time, each reseller once in it, and none when all have ended', async () => {
    const heads = new Map<number, number>()
    const { feedPoller, queries } = pollerOver(heads)
    const waits = Array.from({ length: 1_000 }, (_, i) =>
      wait(feedPoller, { resellerId: i % 25, after: i }),
    )
    await until('some queries', () => queries.length >= 3)

    const [first, ...others] = queries
    expect(first).toEqual([0])
    expect(others.every((ids) => ids.length === 25 && new Set(ids).size === 25)).toBe(true)
    for (let id = 0; id < 25; id += 1) heads.set(id, 1_000)
    await Promise.all(waits)
    const rounds = queries.length
    await wait(feedPoller, { resellerId: 99, ms: 20 })
    expect(queries.slice(rounds).every((ids) => ids.length === 1)).toBe(true)
  })
})
