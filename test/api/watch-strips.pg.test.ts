import { describe, expect } from 'vitest'
import { available, gone, record } from '../fares/fare-fixtures.ts'
import { startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { ago, beginAt, fareOf, itemsOf, listWith, newCaller, watch } from './reseller-calls.ts'

const STRIPS = '/watch-lists/summer/strips'

describe('the strips of a watch list', () => {
  it('have the intervals of each watch since it began, oldest first', async ({ db }) => {
    const ana = await newCaller(db, await startApi(db), 'ana')
    await listWith(ana, 'summer', [watch('A-1'), watch('A-2', { flightId: '102' })])
    await beginAt(db, ana, ago(30))
    const fareId = await fareOf(db, '101')
    await record(db, fareId, ago(20), available('100.00'))
    await record(db, fareId, ago(10), gone)
    await record(db, fareId, ago(9), gone)

    const strips = itemsOf(await ana.get(STRIPS))

    expect(strips).toMatchObject([
      {
        reference: 'A-1',
        intervals: [
          { from: ago(20).toISOString(), pair: 'bookable', price: '100.00', currency: 'EUR' },
          { to: null, pair: 'not_bookable', price: null },
        ],
      },
      { reference: 'A-2', intervals: [] },
    ])
    const [first] = strips as { watchId: string }[]
    const chosen = itemsOf(await ana.get(`${STRIPS}?watchIds=${first?.watchId}`))
    expect(chosen).toMatchObject([{ reference: 'A-1' }])
  })

  it('begin with the watch, and show nothing of another reseller', async ({ db }) => {
    const base = await startApi(db)
    const ana = await newCaller(db, base, 'ana')
    const ben = await newCaller(db, base, 'ben')
    await listWith(ana, 'summer', [watch('A-1')])
    await beginAt(db, ana, ago(60))
    await record(db, await fareOf(db, '101'), ago(50), available('100.00'))
    await listWith(ben, 'summer', [watch('B-1')])
    await beginAt(db, ben, ago(5))

    expect(itemsOf(await ben.get(STRIPS))).toMatchObject([
      { reference: 'B-1', intervals: [{ from: ago(5).toISOString(), to: null }] },
    ])
    expect((await ben.get('/watch-lists/winter/strips')).status).toBe(404)
  })
})
