import { describe, expect } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { lockWatchesOf } from '../../src/resellers/resellers.ts'
import { disableReseller } from '../../src/watches/change-watches.ts'
import { untilWaiting } from '../platform/db/sessions.ts'
import { startApi } from '../support/api-server.ts'
import { watchRows } from '../watches/watch-fixtures.ts'
import { itemsOf, listWith, newCaller, watch } from './reseller-calls.ts'
import { it } from './shared-api.ts'

const LIST = '/watch-lists/summer'

describe('a watch list', () => {
  it('a watch list and its watches may have any name that fits in an address', async ({ ana }) => {
    const names = [
      ...['...', '.a', 'a/b', '100% é', '👩‍👩‍👧 #1?x=y&z', `%2F${'/'.repeat(180)}`],
      'é'.repeat(200),
    ]
    for (const name of names) {
      await listWith(ana, name, [watch(name)])
      const place = encodeURIComponent(name)
      const shown = { list: name, reference: name }
      await ana.play([`GET /watch-lists/${place}/watches/${place}`, undefined, shown])
    }
    const lists = itemsOf(await ana.get('/watch-lists'))
    expect(new Set(lists.map(({ name }) => name))).toEqual(new Set(names))
  })

  it('a watch list is renamed with its watches unless the name exists', async ({ api, ana }) => {
    await listWith(ana, 'summer', [watch('A-1')])
    const [before] = await watchRows(api.db, ana.resellerId)
    await ana.play(
      ['POST /watch-lists', { name: 'winter' }, 201],
      [`PATCH ${LIST}`, { name: 'winter' }, { status: 409, code: 'watch.duplicate_list' }],
      [`PATCH ${LIST}`, { name: 'summer' }, 200],
      [`PATCH ${LIST}`, { name: 'high summer' }, { name: 'high summer', watches: 1 }],
      [`GET ${LIST}`, undefined, { status: 404, code: 'not_found' }],
    )
    const row = { ...before?.row, list: 'high summer' }
    expect(await watchRows(api.db, ana.resellerId)).toEqual([{ row }])
  })
})

describe('watches', () => {
  it('one invalid watch refuses all, and every error has its place', async ({ api, ana }) => {
    await listWith(ana, 'summer', [watch('A-1')])
    const before = await watchRows(api.db, ana.resellerId)
    const { body } = await ana.send('POST', `${LIST}/watches`, {
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
    const places = [
      ...['1/reference', '1/flightId', '2/priceThresholdAmount', '2/departsOn', '3/passengers'],
      ...['4/passengers/residents/adults', '5/reference', '6/minIntervalSeconds'],
    ].map((place) => ({ pointer: `/watches/${place}` }))
    const problem = { status: 400, code: 'watch.invalid_rows', detail: '8 errors' }
    expect(body).toMatchObject({ ...problem, ...places[0], errors: places })
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
      expect(await answer.posted).toMatchObject({ status: 404, body: { code: 'not_found' } })
      expect(itemsOf(await ana.get('/watch-lists')).map(({ name }) => name)).toEqual(lists)
      expect(await watchRows(db, ana.resellerId)).toEqual([])
    },
  )

  it('all or some watches of a list are paused and resumed', async ({ ana }) => {
    await listWith(ana, 'summer', [watch('1'), watch('2'), watch('3')])
    for (const [what, references, watches, paused] of [
      ['pause', ['1', '2'], 2, ['1', '2']],
      ['pause', undefined, 1, ['1', '2', '3']],
      ['resume', ['2'], 1, ['1', '3']],
    ] as const) {
      await ana.play([`POST ${LIST}/${what}`, { references }, { watches }])
      const found = itemsOf(await ana.get(`${LIST}/watches?status=paused`))
      expect(found.map(({ reference }) => reference)).toEqual(paused)
    }
  })

  // Fault: A request names a list or a watch that does not exist.
  it('a 404 names what is missing: the list, or the watch of a list that exists', async ({
    ana,
  }) => {
    await listWith(ana, 'summer', [watch('A-1')])
    const noWatch = {
      status: 404,
      parameter: 'reference',
      detail: 'the watch list has no watch "B-2"',
    }
    const noList = { status: 404, parameter: 'list', detail: expect.stringContaining('"winter"') }
    const WINTER = '/watch-lists/winter'
    const { reference: _, ...question } = watch('A')
    await ana.play(
      [`GET ${WINTER}`, undefined, noList],
      [`DELETE ${WINTER}`, undefined, noList],
      [`POST ${WINTER}/watches`, { watches: [watch('A')] }, noList],
      [`GET ${WINTER}/watches`, undefined, noList],
      [`POST ${WINTER}/pause`, {}, noList],
      [`PUT ${WINTER}/watches/B-2`, question, noList],
      [`GET ${WINTER}/watches/B-2`, undefined, noList],
      [`DELETE ${WINTER}/watches/B-2`, undefined, noList],
      [`GET ${LIST}/watches/B-2`, undefined, noWatch],
      [`GET ${LIST}/watches/B-2/prices`, undefined, noWatch],
      [`DELETE ${LIST}/watches/B-2`, undefined, noWatch],
    )
  })

  it('watches of a disabled reseller can be read, paused and deleted, but not begin', async ({
    api,
    ana,
  }) => {
    await listWith(ana, 'summer', [watch('1')])
    await disableReseller(api.db, ana.resellerId)
    const disabled = { status: 403, code: 'resellers.disabled' }
    await ana.play(
      [`POST ${LIST}/pause`, {}, { watches: 1 }],
      [`POST ${LIST}/watches`, { watches: [watch('2')] }, disabled],
      [`POST ${LIST}/resume`, {}, disabled],
      [`GET ${LIST}/watches/1`, undefined, { status: 'paused' }],
      [`DELETE ${LIST}`, undefined, 204],
    )
  })
})
