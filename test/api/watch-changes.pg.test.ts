import { describe, expect, onTestFinished, vi } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { listApiKeys, revokeApiKey } from '../../src/resellers/api-keys.ts'
import { available, gone, record } from '../fares/fare-fixtures.ts'
import { ask, bearer, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import {
  ago,
  beginAt,
  fareOf,
  itemsOf,
  listWith,
  newCaller,
  type ResellerCalls,
  watch,
} from './reseller-calls.ts'

interface Change {
  readonly seq: number
  readonly previous: number
  readonly kind: string
  readonly list: string | null
  readonly reference: string
  readonly watchId: string
  readonly before: { readonly pair: string }
  readonly after: object
}

/** Ana watches flights 101 and 102, with ten records in between. */
async function tenChanges(db: Db, base: string): Promise<ResellerCalls> {
  const ana = await newCaller(db, base, 'ana')
  await listWith(ana, 'summer', [watch('A-1')])
  await listWith(ana, 'winter', [watch('W-1', { flightId: '102' })])
  await beginAt(db, ana, ago(30))
  const first = await fareOf(db, '101')
  const second = await fareOf(db, '102')
  await record(db, first, ago(20), available('100.00'))
  await record(db, second, ago(20), available('50.00'))
  for (const minutes of [18, 16, 14]) {
    await record(db, first, ago(minutes), available(`${100 + minutes}.00`))
    await record(db, second, ago(minutes), gone)
    await record(db, second, ago(minutes - 1), minutes === 14 ? available('50.00') : gone)
  }
  for (const minutes of [10, 9]) await record(db, first, ago(minutes), gone)
  await record(db, first, ago(8), available('99.00'))
  return ana
}

describe('the feed of a reseller', () => {
  it('the feed has no gaps, is in order, and is read from any number on', async ({ db }) => {
    const ana = await tenChanges(db, await startApi(db))

    const all = await ana.get('/watch-changes')
    const changes = itemsOf<Change>(all)

    expect(changes.map(({ seq }) => seq)).toEqual(changes.map((_, i) => i + 1))
    expect(changes.map(({ previous }) => previous)).toEqual(changes.map((_, i) => i))
    expect(all.body).toMatchObject({ seq: changes.length, head: changes.length })
    expect(changes[0]).toMatchObject({
      kind: 'watch_started',
      schemaVersion: 3,
      list: 'summer',
      reference: 'A-1',
      before: null,
      observedAt: ago(20).toISOString(),
      after: { state: 'bookable' },
    })
    const seen: Change[] = []
    for (let after = 0; after < changes.length; ) {
      const page = await ana.get(`/watch-changes?after=${after}&limit=3`)
      seen.push(...itemsOf<Change>(page))
      after = page.body.seq as number
    }
    expect(seen).toEqual(changes)
  })

  it('a filtered feed shows the previous matching record of each', async ({ db }) => {
    const ana = await tenChanges(db, await startApi(db))
    const { head } = (await ana.get('/watch-changes')).body

    for (const query of [
      'kinds=became_unavailable,became_available',
      'kinds=price_changed',
      'list=winter',
      'reference=A-1',
      'flightId=102',
      'list=summer&kinds=became_unavailable',
      'flightId=nobody',
    ]) {
      const passing = itemsOf<Change>(await ana.get(`/watch-changes?${query}`))
      // Pages of one item, from any number on, form the same chain.
      const seen: Change[] = []
      for (let after = 0; after < Number(head); ) {
        const page = await ana.get(`/watch-changes?${query}&limit=1&after=${after}`)
        seen.push(...itemsOf<Change>(page))
        after = Number(page.body.seq)
      }

      expect(seen, query).toEqual(passing)
      const seqs = passing.map(({ seq }) => seq)
      expect(
        passing.map(({ previous }) => previous),
        query,
      ).toEqual([0, ...seqs].slice(0, seqs.length))
      expect(passing.length > 0, query).toBe(query !== 'flightId=nobody')
    }
  })

  it('previous is searched among 20,000 records only', async ({ db }) => {
    const ana = await tenChanges(db, await startApi(db))
    const push = async (by: number) => {
      await sql`update watch_change set seq = seq + ${by} where seq > 1`.execute(db)
      await sql`update reseller set last_seq = last_seq + ${by}`.execute(db)
      return itemsOf<Change>(await ana.get('/watch-changes?flightId=101&after=19000'))[0]
    }

    const near = await push(19_990)
    const far = await push(100)

    expect([near?.previous, far?.previous]).toEqual([1, 0])
  })

  it('the feed has no records of other resellers, and refuses a number beyond its head', async ({
    db,
  }) => {
    const base = await startApi(db)
    await tenChanges(db, base)
    const ben = await newCaller(db, base, 'ben')
    await listWith(ben, 'summer', [watch('A-1', { flightId: '103' })])

    const detail = 'after is 1, but the feed ends at 0'
    await ben.play(
      ['GET /watch-changes', undefined, { items: [], seq: 0, first: 1, head: 0 }],
      [
        'GET /watch-changes?after=1&wait=30',
        undefined,
        { status: 400, code: 'changes.beyond_head', parameter: 'after', detail },
      ],
    )
  })
})

describe('a request that waits', () => {
  it('a waiting request is answered by a record of its reseller, and by no other', async ({
    db,
  }) => {
    const base = await startApi(db)
    const ana = await newCaller(db, base, 'ana')
    const ben = await newCaller(db, base, 'ben')
    await listWith(ana, 'summer', [watch('A-1')])
    await listWith(ben, 'summer', [watch('B-1', { flightId: '102' })])
    let answered = false
    const waiting = ana.get('/watch-changes?wait=30').finally(() => {
      answered = true
    })

    await record(db, await fareOf(db, '102'), new Date(), available())
    const bens = await ben.get('/watch-changes?wait=30')
    expect(itemsOf(bens)).toHaveLength(1)
    expect(answered).toBe(false)
    await record(db, await fareOf(db, '101'), new Date(), available())

    expect(itemsOf(await waiting)).toMatchObject([{ seq: 1, reference: 'A-1' }])
  })

  it('a waiting request is answered at once if there is a record, else when its time is up', async ({
    db,
  }) => {
    let polls = 0
    const onFeedPoll = () => {
      polls += 1
    }
    const base = await startApi(db, { onFeedPoll })
    const ana = await tenChanges(db, base)

    const full = await ana.get('/watch-changes?wait=30&limit=1')
    const { head } = full.body
    expect(polls).toBe(0)
    const empty = await ana.get(`/watch-changes?wait=1&after=${String(head)}`)

    expect(itemsOf(full)).toHaveLength(1)
    expect(empty.body).toEqual({ items: [], seq: head, first: 1, head })
    expect(polls).toBeGreaterThan(0)
  })

  it('a hundred waiting requests hold no connection of the database', async ({ db }) => {
    const base = await startApi(db)
    const ana = await newCaller(db, base, 'ana')
    const ben = await newCaller(db, base, 'ben')
    await listWith(ana, 'summer', [watch('A-1')])
    // A request beyond the limit of waiting requests is answered at once, and is repeated.
    const waiting = [ana, ben].flatMap(({ key }) =>
      Array.from({ length: 50 }, () =>
        until('the record', async () => {
          const url = `${base}/api/v1/watch-changes?wait=30`
          const answer = await ask(url, { headers: bearer(key) })
          return answer.body.head === 0 ? undefined : answer
        }),
      ),
    )

    expect((await ana.get('/watch-lists')).status).toBe(200)
    // A request that has to wait is aborted and sent again.
    await until('the fifty-first of a reseller is answered at once', () => {
      const signal = AbortSignal.timeout(900)
      const headers = bearer(ana.key)
      return ask(`${base}/api/v1/watch-changes?wait=30`, { headers, signal }).then(
        () => true,
        () => false,
      )
    })
    await listWith(ben, 'summer', [watch('B-1')])
    await record(db, await fareOf(db, '101'), new Date(), available())

    const answers = await Promise.all(waiting)
    expect(answers.map(({ status, body }) => [status, body.head])).toEqual(
      answers.map(() => [200, 1]),
    )
  })

  it('a waiting request ends within seconds of the revocation of its key', async ({ db }) => {
    // Only the timers that check whether a key is still valid.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    let nowMs = 0
    const base = await startApi(db, { nowMs: () => nowMs })
    const [ana, ben] = [await newCaller(db, base, 'ana'), await newCaller(db, base, 'ben')]
    const leaving = new AbortController()
    const answered: string[] = []
    const wait = ({ get, key }: ResellerCalls, name: string) =>
      get('/watch-changes?wait=30', { headers: bearer(key), signal: leaving.signal }).finally(() =>
        answered.push(name),
      )
    const stays = wait(ben, 'ben').catch(() => 'left')
    const waiting = wait(ana, 'ana')
    await until('the question of who waits', () => isAskingHeads(db))

    const [key] = await listApiKeys(db)
    await revokeApiKey(db, key?.id ?? 0)
    nowMs = 1_000

    // Again, because the question may have been that of the other.
    await until('the answer of the one without a key', async () => {
      await vi.advanceTimersByTimeAsync(5_000)
      return answered.length > 0
    })
    expect(await waiting).toMatchObject({ status: 401, body: { code: 'access.unknown_key' } })
    // A request that began earlier, with the same time to wait, has no answer yet.
    expect(answered).toEqual(['ana'])
    leaving.abort()
    expect(await stays).toBe('left')
  })
})

/** Whether an API process has read the heads of feeds: then a request waits. The query excludes itself. */
async function isAskingHeads(db: Db): Promise<boolean> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from pg_stat_activity
     where datname = current_database() and query like '%last_seq as ' || 'head from reseller%'
  `.execute(db)
  return (rows[0]?.count ?? 0) > 0
}
