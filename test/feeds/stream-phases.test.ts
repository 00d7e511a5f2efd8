import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createFeedHeads } from '../../src/feeds/feed-heads.ts'
import { createEventPages, type ReadEvents } from '../../src/feeds/stream/event-pages.ts'
import { createSender } from '../../src/feeds/stream/event-streams.ts'

/** The routes and the fares of an operator; a reseller follows the first alone. */
const FEEDS = ['route', 'availability'] as const
type Feed = (typeof FEEDS)[number]
/** About four records fill a page of a stream. */
const LARGE = 7_000
/** What a stream holds of each feed at most: a page with the names and numbers of its events. */
const MAX_PAGE_CHARS = 36_000

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

interface Item {
  readonly seq: number
  readonly kind: string
  readonly feed: Feed
  readonly padding: string
}

function createWorld(choose: () => number) {
  const { later, endSome } = createPending(choose)
  const feeds: Record<Feed, Item[]> = { route: [], availability: [] }
  const passes = ({ seq }: Item) => seq % 3 === 0
  // A page is what was committed when the read began, however late it arrives.
  const readPage = (feed: Feed, after: number, limit: number, filter?: typeof passes) => {
    const all = feeds[feed].filter((item) => item.seq > after && (filter?.(item) ?? true))
    const items = all.slice(0, limit)
    const head = feeds[feed].length
    const seq = items.length < all.length ? (items.at(-1)?.seq ?? 0) : head
    return later({ items, seq, head })
  }
  const heads = createFeedHeads<Feed>({
    readHeads: () => later(new Map(FEEDS.map((feed) => [feed, feeds[feed].length]))),
    everyMs: 1_000_000,
  })
  const readEvents: ReadEvents = createEventPages()
  return { later, endSome, feeds, passes, readPage, heads, readEvents, failures: [] as unknown[] }
}

type World = ReturnType<typeof createWorld>

function append({ feeds }: World, feed: Feed, padding: string): void {
  feeds[feed].push({ seq: feeds[feed].length + 1, kind: 'k', feed, padding })
}

/** A client that connects again with its last id whenever it is cut off. */
function createClient(
  { later, feeds, passes, readPage, heads, readEvents, failures }: World,
  { kind, from }: { readonly kind: string; readonly from: number },
) {
  const followed: readonly Feed[] = kind === 'operator' ? FEEDS : ['route']
  const isFiltered = kind === 'filtered'
  const begin = followed.map((feed) => Math.floor(from * feeds[feed].length))
  const client = { text: '', sending: 0, lastId: '', connection: 0 }
  let leave: () => void = () => undefined

  const open = async () => {
    client.connection += 1
    const own = client.connection
    const after = client.lastId === '' ? begin : (client.lastId.match(/\d+/g) ?? []).map(Number)
    // Records are written between the read of the heads and the beginning of the stream.
    const known = await later(followed.map((feed) => feeds[feed].length))
    if (own !== client.connection) return
    const send = async (parts: readonly (string | Buffer)[]) => {
      if (own !== client.connection) return false
      expect(client.sending, 'the texts that the client has not read').toBe(0)
      const text = parts.map(String).join('')
      expect(text.length).toBeLessThanOrEqual(MAX_PAGE_CHARS * followed.length)
      client.sending = 1
      await later(undefined)
      if (own !== client.connection) return false
      client.sending = 0
      client.text += text
      const ids = text.match(/^id: .*$/gm)
      client.lastId = ids?.at(-1)?.slice(4) ?? client.lastId
      return true
    }
    const sender = createSender(
      { send, end: () => undefined, hasEnded: () => own !== client.connection },
      {
        feeds: followed.map((feed, i) => ({
          feed,
          filter: isFiltered ? { by: 3 } : {},
          after: after[i] ?? 0,
          head: known[i] ?? 0,
          readPage: (position: number, limit: number) =>
            readPage(feed, position, limit, isFiltered ? passes : undefined),
        })),
        idOf: ([r, f]) => (f === undefined ? `${r}` : `r${r}.f${f}`),
      },
      {
        readEvents,
        onSent: () => undefined,
        onFailure: (err) => failures.push(err),
        lasting: true,
      },
    )
    const watches = followed.map((feed, i) => heads.watch(feed, (head) => sender.onHead(i, head)))
    leave = () => {
      for (const unwatch of watches) unwatch()
    }
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
        const { seq, feed } = JSON.parse(json) as Item
        return { seq, feed }
      }),
    expected: () =>
      followed.map((feed, i) =>
        feeds[feed]
          .slice(begin[i])
          .filter((item) => !isFiltered || passes(item))
          .map(({ seq }) => ({ seq, feed })),
      ),
  }
}

it('a stream has no hole and no double, wherever it begins, whenever reads and writes end and clients are cut off', async () => {
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
        } else if ('cut' in step) clients[step.cut % Math.max(1, clients.length)]?.cut()
        else await world.endSome(step.endSome)
      }
      // Clients that are opening watch the heads afterwards.
      await world.endSome(Number.POSITIVE_INFINITY)
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
