import { describe, expect } from 'vitest'
import { API_OPERATIONS } from '../../src/app/api-operations.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { propertiesOf } from '../../src/platform/http/read-parameters.ts'
import { listApiKeys } from '../../src/resellers/api-keys.ts'
import { pruneKeptAnswers } from '../../src/resellers/kept-answers.ts'
import { newKeyText, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { callsOf, itemsOf, listWith, newCaller, watch } from './reseller-calls.ts'

const HOOK = { target: 'https://receiver.example/hooks' }
const HOOKS = '/webhook-endpoints'

async function startWith(db: Db) {
  const base = await startApi(db)
  const ana = await newCaller(db, base, 'ana')
  /** Posts with a name. */
  const post = (path: string, body: object, name: string, { send } = ana) =>
    send('POST', path, body, { 'idempotency-key': name })
  const namesOf = async (path: string) =>
    itemsOf(await ana.get(path)).map((one) => one.id ?? one.name)
  return { base, ana, post, namesOf }
}

describe('a request with an Idempotency-Key', () => {
  it('is answered again with the same status, address and secret, and makes one thing', async ({
    db,
  }) => {
    const { post, namesOf } = await startWith(db)
    const first = await post(HOOKS, HOOK, 'order-1')
    const again = await post(HOOKS, HOOK, 'order-1')
    const other = await post(HOOKS, HOOK, 'order-2')
    expect(first.status).toBe(201)
    expect(again).toMatchObject({ status: 201, text: first.text })
    expect([first, again].map(({ headers }) => headers.get('location'))).toEqual(
      [1, 2].map(() => `/api/v1${HOOKS}/${String(first.body.id)}`),
    )
    expect(new Set(await namesOf(HOOKS))).toEqual(new Set([first.body.id, other.body.id]))
  })

  it('is refused if its name belongs to another body, operation or address', async ({ db }) => {
    const { post, namesOf } = await startWith(db)
    await post('/watch-lists', { name: 'summer' }, 'n')
    for (const [path, body] of [
      ['/watch-lists', { name: 'autumn' }],
      [HOOKS, HOOK],
      ['/watch-lists/summer/watches', { watches: [watch('A')] }],
    ] as const) {
      const answer = await post(path, body, 'n')
      expect(answer).toMatchObject({ status: 422, body: { code: 'request.other_repeated' } })
    }
    const spaced = await post('/watch-lists', { name: 'x' }, 'a b')
    expect(spaced).toMatchObject({ status: 400, body: { parameter: 'Idempotency-Key' } })
    expect(await namesOf('/watch-lists')).toEqual(['summer'])
  })

  it('of ten at the same time one makes the thing, and each other one is refused or repeated', async ({
    db,
  }) => {
    const { base, post } = await startWith(db)
    const operator = { ...callsOf(base, await newKeyText(db)), resellerId: 0 }
    const known = (await listApiKeys(db)).length
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => post('/keys', { reseller: null }, 'k', operator)),
    )
    const made = answers.filter(({ status }) => status === 201)
    expect(new Set(made.map(({ text }) => text)).size).toBe(1)
    for (const refused of answers.filter(({ status }) => status !== 201)) {
      expect(refused).toMatchObject({ status: 409, body: { code: 'request.still_running' } })
      expect(refused.headers.get('retry-after')).toBe('1')
    }
    expect(await listApiKeys(db)).toHaveLength(known + 1)
  })

  it('leaves nothing behind when its answer cannot be kept, and is refused without being kept', async ({
    db,
  }) => {
    const { post, namesOf, ana } = await startWith(db)
    const make = (name: string) => post('/watch-lists', { name: 'summer' }, name)
    await sql`alter table kept_answer add constraint full_disk check (false)`.execute(db)
    const failed = await make('n')
    expect([failed.status, failed.headers.get('location')]).toEqual([500, null])
    expect(await namesOf('/watch-lists')).toEqual([])
    await sql`alter table kept_answer drop constraint full_disk`.execute(db)
    expect([(await make('n')).status, (await make('m')).status]).toEqual([201, 409])
    await ana.send('DELETE', '/watch-lists/summer')
    expect((await make('m')).status).toBe(201)
  })

  it('gives nothing of an answer to another key, stands sealed in the database, and is forgotten after a day', async ({
    db,
  }) => {
    const { base, post, namesOf } = await startWith(db)
    const ben = await newCaller(db, base, 'ben')
    const first = await post(HOOKS, HOOK, 'n')
    const foreign = await post(HOOKS, HOOK, 'n', ben)
    expect(foreign.status).toBe(201)
    expect(foreign.body.id).not.toBe(first.body.id)
    expect(foreign.body.secret).not.toBe(first.body.secret)
    const { rows } = await sql<{ answer: Buffer }>`select answer from kept_answer`.execute(db)
    expect(rows).toHaveLength(2)
    for (const { answer } of rows) {
      expect(answer.includes(String(first.body.secret))).toBe(false)
      expect(answer.includes('receiver.example')).toBe(false)
    }
    await sql`update kept_answer set created_at = created_at - interval '25 hours'`.execute(db)
    await post(HOOKS, HOOK, 'n')
    expect(await namesOf(HOOKS)).toHaveLength(2)
    expect([await pruneKeptAnswers(db), await pruneKeptAnswers(db)]).toEqual([1, 0])
  })
})

describe('If-Match', () => {
  it('changes what still has the settings that were read, and is refused otherwise', async ({
    db,
  }) => {
    const { ana } = await startWith(db)
    await listWith(ana, 'summer', [watch('A-1')])
    const path = '/watch-lists/summer/watches/A-1'
    const tagOf = async () => (await ana.get(path)).headers.get('etag') ?? ''
    const patch = (priority: string, tag?: string) =>
      ana.send('PATCH', path, { priority }, tag === undefined ? {} : { 'if-match': tag })
    const tag = await tagOf()
    const first = await patch('high', tag)
    const late = await patch('low', tag)
    const others = [await patch('low', `W/${await tagOf()}`), await patch('urgent', '*')]
    const last = await patch('normal')
    expect([first, ...others, last].map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(late).toMatchObject({ status: 412, body: { code: 'request.changed_meanwhile' } })
    expect(await tagOf()).toBe(last.headers.get('etag'))
    expect((await ana.send('PATCH', `${path}0`, {}, { 'if-match': tag })).status).toBe(404)
  })

  it('lets one of two changes at the same time win', async ({ db }) => {
    const { base, ana } = await startWith(db)
    const operator = callsOf(base, await newKeyText(db))
    await listWith(ana, 'summer', [watch('A-1')])
    const made = await ana.send('POST', HOOKS, HOOK)
    for (const [{ get, send }, path, member, typed] of [
      [ana, '/watch-lists/summer/watches/A-1', 'priceThresholdAmount', String],
      [ana, `${HOOKS}/${String(made.body.id)}`, 'description', String],
      [operator, '/resellers/ana', 'share', Number],
    ] as const) {
      const tag = (await get(path)).headers.get('etag') ?? ''
      const answers = await Promise.all(
        [2, 3, 4, 5].map((n) => send('PATCH', path, { [member]: typed(n) }, { 'if-match': tag })),
      )
      const [won, ...others] = answers.toSorted((a, b) => a.status - b.status)
      expect([won?.status, ...others.map(({ status }) => status)]).toEqual([200, 412, 412, 412])
      expect((await get(path)).headers.get('etag')).toBe(won?.headers.get('etag'))
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
