import { expect, it } from 'vitest'
import { createFeedCursor } from '../../src/feeds/stream/feed-cursor.ts'

it('a stream whose next records are archived meanwhile reports a gap and goes on at the floor', async () => {
  const records = [10, 11].map((seq) => ({
    seq,
    kind: 'route_added',
    json: `{"seq":${seq}}`,
    value: seq,
  }))
  const filter = { passes: () => true, findPrevious: async () => 0, span: 20_000 }
  const cursor = createFeedCursor<number>({
    tail: { after: () => undefined, wentBack: () => false, gaps: () => [] },
    after: 4,
    readPage: async () => ({ records, seq: 11, first: 10, head: 11, gaps: [] }),
    filter,
  })

  const gap = await cursor.next()
  const next = await cursor.next()

  expect(gap.texts).toEqual([{ events: 1, text: 'event: gap\ndata: {"after":4,"next":10}\n\n' }])
  expect([gap.caughtUp, gap.over]).toEqual([false, false])
  expect(next.texts.map(({ seq }) => seq)).toEqual([10, 11])
  expect(cursor.position()).toBe(11)
})
