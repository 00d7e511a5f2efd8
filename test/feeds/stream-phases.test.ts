import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Gap } from '../../src/feeds/feed-bounds.ts'
import { createFeedHeads } from '../../src/feeds/feed-heads.ts'
import { createSender } from '../../src/feeds/stream/event-streams.ts'
import { createFeedCursor } from '../../src/feeds/stream/feed-cursor.ts'
import {
  createFeedTails,
  PAGE_RECORDS,
  type RecordPage,
  type StreamRecord,
} from '../../src/feeds/stream/feed-tail.ts'
import { silentLog } from '../support/silent-log.ts'

/** The routes and the fares of an operator; a reseller follows the first alone. */
const FEEDS = ['r', 'f'] as const
type Feed = (typeof FEEDS)[number]
type Value = { readonly n: number }
/** About four records fill a batch of a stream. */
const LARGE = 7_000
/** What a stream holds of each feed at most: a batch with the names and numbers of its events. */
const MAX_BATCH_CHARS = 36_000

const anySpec = fc.record({
  /** What it follows: one feed, one feed with a filter, or both feeds. */
  kind: fc.constantFrom('all', 'filtered', 'operator'),
  /** Where it begins, as a part of the feed. */
  from: fc.double({ min: 0, max: 1, noNaN: true }),
})
const anySteps = fc.array(
  fc.oneof(
    fc.record({
      append: fc.integer({ min: 1, max: 130 }),
      feed: fc.constantFrom(...FEEDS),
      isLarge: fc.boolean(),
      isNotified: fc.boolean(),
    }),
    fc.record({ connect: anySpec }),
    fc.record({ cut: fc.nat() }),
    fc.record({ generation: fc.constantFrom(...FEEDS) }),
    fc.record({ endSome: fc.integer({ min: 1, max: 12 }) }),
  ),
  { minLength: 10, maxLength: 40 },
)

/** Reads and writes that are in progress. The test decides which one ends next. */
function createPending(choose: () => number) {
  const pending: (() => void)[] = []
  return {
    later: <T>(value: T) => new Promise<T>((resolve) => void pending.push(() => resolve(value))),
    endSome: async (count: number) => {
      for (let i = 0; i < count; i += 1) {
        await new Promise(setImmediate)
        const [end] = pending.splice(choose() % Math.max(1, pending.length), 1)
        if (end === undefined) return
        end()
      }
    },
  }
}

function createWorld(choose: () => number) {
  const { later, endSome } = createPending(choose)
  const feeds: Record<Feed, StreamRecord<Value>[]> = { r: [], f: [] }
  const gaps: Record<Feed, Gap[]> = { r: [], f: [] }
  const passes = ({ n }: Value) => n % 3 === 0
  // A page is what was committed when the read began, however late it arrives.
  const readPage = (feed: Feed, after: number, filter?: typeof passes) => {
    const all = feeds[feed].filter(({ seq, value }) => seq > after && (filter?.(value) ?? true))
    const records = all.slice(0, PAGE_RECORDS)
    const head = lastOf(feeds[feed])
    const seq = records.length < all.length ? (records.at(-1)?.seq ?? 0) : head
    return later<RecordPage<Value>>({ records, seq, first: 1, head, gaps: [...gaps[feed]] })
  }
  const heads = createFeedHeads<Feed>({
    readHeads: async () => new Map(FEEDS.map((feed) => [feed, lastOf(feeds[feed])])),
    everyMs: 1_000_000,
  })
  const tails = createFeedTails<Feed, Value>({ readPage, heads, log: silentLog })
  return { later, endSome, feeds, gaps, passes, readPage, heads, tails, failures: [] as unknown[] }
}

type World = ReturnType<typeof createWorld>

function lastOf(records: readonly StreamRecord<Value>[]): number {
  return records.at(-1)?.seq ?? 0
}

/** Appends a record, or lets the next one come after a gap. */
function append({ feeds, gaps }: World, feed: Feed, padding: string): void {
  const seq = Math.max(lastOf(feeds[feed]), (gaps[feed].at(-1)?.next ?? 1) - 1) + 1
  const json = JSON.stringify({ seq, feed, padding })
  feeds[feed].push({ seq, kind: 'k', json, value: { n: seq } })
}

function beginGeneration({ feeds, gaps }: World, feed: Feed): void {
  const last = gaps[feed].at(-1) ?? { next: 1, generation: 1 }
  const after = Math.max(lastOf(feeds[feed]), last.next - 1)
  gaps[feed].push({ after, next: after + 1_000, generation: last.generation + 1 })
}

/** A client that connects again with its last id whenever it is cut off. */
function createClient(
  { later, feeds, passes, readPage, tails, failures }: World,
  { kind, from }: { readonly kind: string; readonly from: number },
) {
  const followed: readonly Feed[] = kind === 'operator' ? FEEDS : ['r']
  const begin = followed.map((feed) => Math.floor(from * feeds[feed].length))
  const beginAfter = followed.map((feed, i) => lastOf(feeds[feed].slice(0, begin[i])))
  const client = { text: '', sending: 0, lastId: '', connection: 0 }
  let leave: () => void = () => undefined

  const open = async () => {
    client.connection += 1
    const own = client.connection
    const after =
      client.lastId === '' ? beginAfter : (client.lastId.match(/\d+/g) ?? []).map(Number)
    // Records are written between the read of the heads and the beginning of the stream.
    const heads = await later(followed.map((feed) => lastOf(feeds[feed])))
    if (own !== client.connection) return
    const joined = followed.map((feed, i) => tails.join(feed, heads[i] ?? 0, () => sender.notify()))
    leave = () => {
      for (const tail of joined) tail.leave()
    }
    const cursors = joined.map((tail, i) => {
      const feed = followed[i] as Feed
      return createFeedCursor<Value>({
        tail,
        after: after[i] ?? 0,
        ...(kind === 'all' ? { numbersAreIds: true as const } : {}),
        ...(kind === 'filtered'
          ? {
              readPage: (position: number) => readPage(feed, position, passes),
              filter: {
                passes,
                findPrevious: (seq: number) => later(previousOf(feeds[feed], seq, passes)),
                span: Number.POSITIVE_INFINITY,
              },
            }
          : { readPage: (position: number) => tails.readBacklog(feed, position) }),
      })
    })
    const send = async (parts: readonly (string | Buffer)[]) => {
      if (own !== client.connection) return false
      expect(client.sending, 'the texts that the client has not read').toBe(0)
      const text = parts.map(String).join('')
      expect(text.length).toBeLessThanOrEqual(MAX_BATCH_CHARS * followed.length)
      client.sending = 1
      await later(undefined)
      if (own !== client.connection) return false
      client.sending = 0
      client.text += text
      client.lastId =
        text
          .match(/^id: .*$/gm)
          ?.at(-1)
          ?.slice(4) ?? client.lastId
      return true
    }
    const stream = { send, end: () => undefined, hasEnded: () => own !== client.connection }
    const idOf = ([r, f]: readonly number[]) => (f === undefined ? `${r}` : `r${r}.f${f}`)
    const sender = createSender(
      stream,
      { cursors, idOf },
      {
        onSent: () => undefined,
        onFailure: (err) => void failures.push(err),
        lasting: true,
      },
    )
    sender.beat()
  }
  return {
    open,
    /** What was written and not read is lost. */
    cut: () => {
      leave()
      client.sending = 0
      void open()
    },
    followed,
    events: () =>
      [...client.text.matchAll(/^data: (.*)$/gm)].map(([, json = '']) => {
        const { padding: _, ...event } = JSON.parse(json) as { padding: string; feed: Feed }
        return event
      }),
    expected: () =>
      followed.map((feed, i) => {
        const records = feeds[feed].slice(begin[i])
        const passing = records.filter(({ value }) => kind !== 'filtered' || passes(value))
        const previous = (seq: number) =>
          previousOf(feeds[feed], seq, kind === 'filtered' ? passes : () => true)
        return passing.map(({ seq }) => ({ seq, feed, previous: previous(seq) }))
      }),
  }
}

function previousOf(
  records: readonly StreamRecord<Value>[],
  seq: number,
  passes: (value: Value) => boolean,
): number {
  return records.findLast((record) => record.seq < seq && passes(record.value))?.seq ?? 0
}

it('a stream has no hole and no double in backfill, cutover and live, whenever reads and writes end, clients are cut off and generations begin', async () => {
  await fc.assert(
    fc.asyncProperty(anySteps, fc.infiniteStream(fc.nat()), async (steps, choices) => {
      const world = createWorld(() => choices.next().value as number)
      const clients: ReturnType<typeof createClient>[] = []
      for (const step of steps) {
        if ('append' in step) {
          for (let i = 0; i < step.append; i += 1) {
            append(world, step.feed, 'x'.repeat(step.isLarge && i < 8 ? LARGE : 1))
          }
          if (step.isNotified) world.heads.readNow(step.feed)
        } else if ('connect' in step) {
          const client = createClient(world, step.connect)
          clients.push(client)
          void client.open()
        } else if ('generation' in step) beginGeneration(world, step.generation)
        else if ('cut' in step) clients[step.cut % Math.max(1, clients.length)]?.cut()
        else await world.endSome(step.endSome)
      }
      // As the poll does: a hint after a false one waits in real time.
      world.heads.readNow()
      await world.endSome(Number.POSITIVE_INFINITY)
      world.heads.close()

      expect(world.failures).toEqual([])
      for (const client of clients) {
        const events = client.events()
        const seen = client.followed.map((name) => events.filter(({ feed }) => feed === name))
        expect(seen).toEqual(client.expected())
      }
    }),
    { numRuns: 50 },
  )
})
