import { describe, expect } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { lockWatchesOf } from '../../src/resellers/resellers.ts'
import { disableReseller } from '../../src/watches/change-watches.ts'
import { untilWaiting } from '../platform/db/sessions.ts'
import { type Answer, startApi } from '../support/api-server.ts'
import { watchRows } from '../watches/watch-fixtures.ts'
import { itemsOf, listWith, newCaller, watch } from './reseller-calls.ts'
import { it, ownCaller } from './shared-api.ts'

function problem(status: number, code: string): unknown {
  return expect.objectContaining({ status, body: expect.objectContaining({ code }) })
}

function errorsOf({ body }: Answer): { pointer: string; detail: string }[] {
  return body.errors as { pointer: string; detail: string }[]
}

describe('a watch list', () => {
  it('a watch list and its watches may have any name that fits in an address', async ({ api }) => {
    const ana = await ownCaller(api)
    const names = [
      '...',
      '.a',
      'a/b',
      '100% é',
      '👩‍👩‍👧 #1?x=y&z',
      `%2F${'/'.repeat(180)}`,
      'é'.repeat(200),
    ]
    for (const name of names) {
      await listWith(ana, name, [watch(name)])
      const place = encodeURIComponent(name)

      const answer = await ana.get(`/watch-lists/${place}/watches/${place}`)

      expect(answer).toMatchObject({ status: 200, body: { list: name, reference: name } })
    }
    const { body } = await ana.get('/watch-lists')
    expect(new Set((body.items as { name: string }[]).map(({ name }) => name))).toEqual(
      new Set(names),
    )
  })

  it('a watch list is renamed with its watches unless the name exists', async ({ api }) => {
    const ana = await ownCaller(api)
    await listWith(ana, 'summer', [watch('A-1')])
    await ana.send('POST', '/watch-lists', { name: 'winter' })
    const before = await watchRows(api.db, ana.resellerId)

    const taken = await ana.send('PATCH', '/watch-lists/summer', { name: 'winter' })
    const same = await ana.send('PATCH', '/watch-lists/summer', { name: 'summer' })
    const renamed = await ana.send('PATCH', '/watch-lists/summer', { name: 'high summer' })

    expect(taken).toEqual(problem(409, 'watch.duplicate_list'))
    expect(same.status).toBe(200)
    expect(renamed.body).toMatchObject({ name: 'high summer', watches: 1 })
    expect(await ana.get('/watch-lists/summer')).toEqual(problem(404, 'not_found'))
    const renamedRows = before.map(({ row }) => ({ row: { ...row, list: 'high summer' } }))
    expect(await watchRows(api.db, ana.resellerId)).toEqual(renamedRows)
  })
})

describe('watches', () => {
  it('one invalid watch refuses all, and every error has its place', async ({ api }) => {
    const ana = await ownCaller(api)
    await listWith(ana, 'summer', [watch('A-1')])
    const before = await watchRows(api.db, ana.resellerId)

    const answer = await ana.send('POST', '/watch-lists/summer/watches', {
      watches: [
        watch('A-1', { flightId: 'other' }),
        watch('', { flightId: ' ' }),
        watch('A-2', { departsOn: '2026-02-30', priceThresholdAmount: '-1' }),
        watch('A-3', { passengers: { residents: { infants: 2 }, nonResidents: { adults: 1 } } }),
        watch('A-4', { passengers: { residents: { adults: 13 } } }),
        watch('A-1'),
        watch('A-5', { minIntervalSeconds: 0 }),
      ],
    })

    expect(answer).toEqual(problem(400, 'watch.invalid_rows'))
    expect(errorsOf(answer)).toEqual([
      { pointer: '/watches/1/reference', detail: 'is missing' },
      { pointer: '/watches/1/flightId', detail: 'is missing' },
      { pointer: '/watches/2/priceThresholdAmount', detail: expect.any(String) as string },
      { pointer: '/watches/2/departsOn', detail: expect.any(String) as string },
      { pointer: '/watches/3/passengers', detail: 'infants must not outnumber adults' },
      {
        pointer: '/watches/4/passengers/residents/adults',
        detail: 'must be a whole number from 0 to 12, not "13"',
      },
      {
        pointer: '/watches/5/reference',
        detail: '"A-1" is already the reference of /watches/0',
      },
      { pointer: '/watches/6/minIntervalSeconds', detail: expect.any(String) as string },
    ])
    expect(answer.body).toMatchObject({
      pointer: '/watches/1/reference',
      detail: '8 errors',
    })
    expect(await watchRows(api.db, ana.resellerId)).toEqual(before)
  })

  it.for([
    ['renamed', sql`update watch_list set name = 'moved'`, ['moved']],
    ['deleted', sql`delete from watch_list`, []],
  ] as const)(
    'saving watches of a list that is %s meanwhile does not create it again',
    async ([, change, lists], { db }) => {
      const ana = await newCaller(db, await startApi(db), 'ana')
      await ana.send('POST', '/watch-lists', { name: 'race' })

      const answer = await inTransaction(db, async (tx) => {
        await lockWatchesOf(tx, ana.resellerId)
        const posted = ana.send('POST', '/watch-lists/race/watches', { watches: [watch('A')] })
        await untilWaiting(db, 1)
        await change.execute(tx)
        return { posted }
      })

      expect(await answer.posted).toEqual(problem(404, 'not_found'))
      expect(itemsOf(await ana.get('/watch-lists')).map(({ name }) => name)).toEqual(lists)
      expect(await watchRows(db, ana.resellerId)).toEqual([])
    },
  )

  it('all or some watches of a list are paused and resumed', async ({ api }) => {
    const ana = await ownCaller(api)
    await listWith(ana, 'summer', [watch('1'), watch('2'), watch('3')])
    const paused = async () =>
      itemsOf(await ana.get('/watch-lists/summer/watches'))
        .filter((w) => w.pausedAt !== null)
        .map((w) => w.reference)

    const some = await ana.send('POST', '/watch-lists/summer/pause', { references: ['1', '2'] })
    const afterSome = await paused()
    const all = await ana.send('POST', '/watch-lists/summer/pause', {})
    const afterAll = await paused()
    const resumed = await ana.send('POST', '/watch-lists/summer/resume', { references: ['2'] })

    expect([some.body, all.body, resumed.body]).toEqual([
      { watches: 2 },
      { watches: 1 },
      { watches: 1 },
    ])
    expect([afterSome, afterAll, await paused()]).toEqual([
      ['1', '2'],
      ['1', '2', '3'],
      ['1', '3'],
    ])
  })

  it('a 404 names what is missing: the list, or the watch of a list that exists', async ({
    api,
  }) => {
    const ana = await ownCaller(api)
    await listWith(ana, 'summer', [watch('A-1')])
    const body = { watches: [watch('A')] }
    const { reference: _, ...question } = watch('A')
    const noList = { parameter: 'list', detail: expect.stringContaining('"winter"') }
    const noWatch = { parameter: 'reference', detail: 'the watch list has no watch "B-2"' }

    for (const [method, path, missing, sent] of [
      ['GET', '/winter', noList],
      ['DELETE', '/winter', noList],
      ['POST', '/winter/watches', noList, body],
      ['GET', '/winter/watches', noList],
      ['POST', '/winter/pause', noList, {}],
      ['PUT', '/winter/watches/B-2', noList, question],
      ['GET', '/winter/watches/B-2', noList],
      ['DELETE', '/winter/watches/B-2', noList],
      ['GET', '/summer/watches/B-2', noWatch],
      ['GET', '/summer/watches/B-2/prices', noWatch],
      ['DELETE', '/summer/watches/B-2', noWatch],
    ] as const) {
      const answer = await ana.send(method, `/watch-lists${path}`, sent)

      expect(answer.body, `${method} ${path}`).toMatchObject({ status: 404, ...missing })
    }
  })

  it('watches of a disabled reseller can be read, paused and deleted, but not begin', async ({
    api,
  }) => {
    const ana = await ownCaller(api)
    await listWith(ana, 'summer', [watch('1')])
    await disableReseller(api.db, ana.resellerId)

    const paused = await ana.send('POST', '/watch-lists/summer/pause', {})
    const saved = await ana.send('POST', '/watch-lists/summer/watches', { watches: [watch('2')] })
    const resumed = await ana.send('POST', '/watch-lists/summer/resume', {})

    expect(paused.body).toEqual({ watches: 1 })
    expect(saved).toEqual(problem(403, 'resellers.disabled'))
    expect(resumed).toEqual(problem(403, 'resellers.disabled'))
    expect((await ana.get('/watch-lists/summer/watches/1')).body.status).toBe('paused')
    expect((await ana.send('DELETE', '/watch-lists/summer')).status).toBe(204)
  })
})
