import { describe, expect } from 'vitest'
import { API_OPERATIONS } from '../../src/app/api-operations.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { propertiesOf } from '../../src/platform/http/read-parameters.ts'
import { listApiKeys } from '../../src/resellers/api-keys.ts'
import { pruneKeptAnswers } from '../../src/resellers/kept-answers.ts'
import { type Answer, ask, bearer, newKeyText, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { listWith, newCaller, watch } from './reseller-calls.ts'

/** Sends JSON with one more header. */
type Send = (path: string, body: object, headers: Record<string, string>) => Promise<Answer>

function sender(base: string, key: string, method = 'POST'): Send {
  return (path, body, headers) =>
    ask(`${base}/api/v1${path}`, {
      method,
      headers: { ...bearer(key), 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
}

const named = (name: string) => ({ 'idempotency-key': name })
const HOOK = { target: 'https://receiver.example/hooks' }

async function countOf(db: Db, table: string): Promise<number> {
  const { rows } = await sql<{ n: number }>`select count(*) as n from ${sql.ref(table)}`.execute(db)
  return rows[0]?.n ?? 0
}

describe('a request with an Idempotency-Key', () => {
  it('is answered again with the same status, address and secret, and makes one thing', async ({
    db,
  }) => {
    const base = await startApi(db)
    const post = sender(base, (await newCaller(db, base, 'ana')).key)

    const first = await post('/webhook-endpoints', HOOK, named('order-1'))
    const again = await post('/webhook-endpoints', HOOK, named('order-1'))
    const other = await post('/webhook-endpoints', HOOK, named('order-2'))

    expect(first.status).toBe(201)
    expect(first.headers.get('location')).toBe(`/api/v1/webhook-endpoints/${String(first.body.id)}`)
    expect(again).toMatchObject({ status: 201, text: first.text })
    expect(again.headers.get('location')).toBe(first.headers.get('location'))
    expect(other.body.id).not.toBe(first.body.id)
    expect(await countOf(db, 'webhook_endpoint')).toBe(2)
  })

  it('is refused if its name belongs to another body, operation or address', async ({ db }) => {
    const base = await startApi(db)
    const post = sender(base, (await newCaller(db, base, 'ana')).key)
    await post('/watch-lists', { name: 'summer' }, named('n'))

    const refused = [
      await post('/watch-lists', { name: 'autumn' }, named('n')),
      await post('/webhook-endpoints', HOOK, named('n')),
      await post('/watch-lists/summer/watches', { watches: [watch('A')] }, named('n')),
    ]

    for (const answer of refused) {
      expect(answer).toMatchObject({ status: 422, body: { code: 'request.other_repeated' } })
    }
    expect(await countOf(db, 'watch_list')).toBe(1)
    const spaced = await post('/watch-lists', { name: 'x' }, named('a b'))
    expect(spaced).toMatchObject({ status: 400, body: { parameter: 'Idempotency-Key' } })
  })

  it('of ten at the same time one makes the thing, and each other one is refused or repeated', async ({
    db,
  }) => {
    const base = await startApi(db)
    const post = sender(base, await newKeyText(db))

    const answers = await Promise.all(
      Array.from({ length: 10 }, () => post('/keys', { reseller: null }, named('k'))),
    )

    const made = answers.filter(({ status }) => status === 201)
    expect(new Set(made.map(({ text }) => text)).size).toBe(1)
    for (const refused of answers.filter(({ status }) => status !== 201)) {
      expect(refused).toMatchObject({ status: 409, body: { code: 'request.still_running' } })
      expect(refused.headers.get('retry-after')).toBe('1')
    }
    expect(await listApiKeys(db)).toHaveLength(2)
  })

  it('leaves nothing behind when its answer cannot be kept, and is refused without being kept', async ({
    db,
  }) => {
    const base = await startApi(db)
    const post = sender(base, (await newCaller(db, base, 'ana')).key)
    await sql`alter table kept_answer add constraint full_disk check (false)`.execute(db)
    const failed = await post('/watch-lists', { name: 'summer' }, named('n'))
    const lists = await countOf(db, 'watch_list')
    await sql`alter table kept_answer drop constraint full_disk`.execute(db)

    const made = await post('/watch-lists', { name: 'summer' }, named('n'))
    const taken = await post('/watch-lists', { name: 'summer' }, named('m'))
    await sql`delete from watch_list`.execute(db)
    const later = await post('/watch-lists', { name: 'summer' }, named('m'))

    expect(failed.status).toBe(500)
    expect(failed.headers.get('location')).toBeNull()
    expect(lists).toBe(0)
    expect([made.status, taken.status, later.status]).toEqual([201, 409, 201])
  })

  it('gives nothing of an answer to another key, and no secret stands in the database', async ({
    db,
  }) => {
    const base = await startApi(db)
    const ana = sender(base, (await newCaller(db, base, 'ana')).key)
    const ben = sender(base, (await newCaller(db, base, 'ben')).key)

    const first = await ana('/webhook-endpoints', HOOK, named('n'))
    const foreign = await ben('/webhook-endpoints', HOOK, named('n'))

    expect(foreign.status).toBe(201)
    expect(foreign.body.id).not.toBe(first.body.id)
    expect(foreign.body.secret).not.toBe(first.body.secret)
    const { rows } = await sql<{ answer: Buffer }>`select answer from kept_answer`.execute(db)
    expect(rows).toHaveLength(2)
    for (const { answer } of rows) {
      expect(answer.includes(String(first.body.secret))).toBe(false)
      expect(answer.includes('receiver.example')).toBe(false)
    }
  })

  it('is forgotten after a day', async ({ db }) => {
    const base = await startApi(db)
    const post = sender(base, (await newCaller(db, base, 'ana')).key)
    await post('/webhook-endpoints', HOOK, named('n'))
    await sql`update kept_answer set created_at = created_at - interval '25 hours'`.execute(db)

    await post('/webhook-endpoints', HOOK, named('n'))

    expect(await countOf(db, 'webhook_endpoint')).toBe(2)
    expect(await pruneKeptAnswers(db)).toBe(0)
    await sql`update kept_answer set created_at = created_at - interval '25 hours'`.execute(db)
    expect(await pruneKeptAnswers(db)).toBe(1)
  })
})

describe('If-Match', () => {
  it('changes what still has the settings that were read, and is refused otherwise', async ({
    db,
  }) => {
    const base = await startApi(db)
    const ana = await newCaller(db, base, 'ana')
    await listWith(ana, 'summer', [watch('A-1')])
    const patch = sender(base, ana.key, 'PATCH')
    const path = '/watch-lists/summer/watches/A-1'
    const tag = (await ana.get(path)).headers.get('etag') ?? ''

    const first = await patch(path, { priority: 'high' }, { 'if-match': tag })
    const late = await patch(path, { priority: 'low' }, { 'if-match': tag })
    const weak = await patch(
      path,
      { priority: 'low' },
      { 'if-match': `W/${first.headers.get('etag')}` },
    )
    const any = await patch(path, { priority: 'urgent' }, { 'if-match': '*' })
    const without = await patch(path, { priority: 'normal' }, {})

    expect([first, late, weak, any, without].map(({ status }) => status)).toEqual([
      200, 412, 200, 200, 200,
    ])
    expect(late.body.code).toBe('request.changed_meanwhile')
    expect((await ana.get(path)).headers.get('etag')).toBe(without.headers.get('etag'))
    expect(await patch(`${path}0`, {}, { 'if-match': tag })).toMatchObject({ status: 404 })
  })

  it('lets one of two changes at the same time win', async ({ db }) => {
    const base = await startApi(db)
    const ana = await newCaller(db, base, 'ana')
    const operator = await newKeyText(db)
    await listWith(ana, 'summer', [watch('A-1')])
    const made = await ana.send('POST', '/webhook-endpoints', HOOK)
    const edits = [
      [ana.key, '/watch-lists/summer/watches/A-1', 'priceThresholdAmount', String],
      [ana.key, `/webhook-endpoints/${String(made.body.id)}`, 'description', String],
      [operator, '/resellers/ana', 'share', Number],
    ] as const
    for (const [key, path, member, typed] of edits) {
      const read = await ask(`${base}/api/v1${path}`, { headers: bearer(key) })
      const tag = read.headers.get('etag') ?? ''
      const patch = sender(base, key, 'PATCH')

      const answers = await Promise.all(
        [2, 3, 4, 5].map((n) => patch(path, { [member]: typed(n) }, { 'if-match': tag })),
      )

      const statuses = answers.map(({ status }) => status).toSorted()
      expect(statuses, path).toEqual([200, 412, 412, 412])
      const now = await ask(`${base}/api/v1${path}`, { headers: bearer(key) })
      expect(now.headers.get('etag')).toBe(
        answers.find((a) => a.status === 200)?.headers.get('etag'),
      )
    }
  })

  it('every member that an edit can set is in the answer of its address', () => {
    const edits = API_OPERATIONS.filter(({ lock }) => lock !== undefined)

    expect(edits.length).toBeGreaterThan(3)
    for (const { path, body } of edits) {
      const reader = API_OPERATIONS.find((one) => one.path === path && one.method === 'GET')
      const shown = Object.keys(propertiesOf(reader?.answer.schema))
      // Of headers the names are shown.
      const set = Object.keys(propertiesOf(body)).filter((name) => name !== 'headers')
      expect(shown, path).toEqual(expect.arrayContaining(set))
    }
  })
})
