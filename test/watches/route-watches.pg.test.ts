import { describe, expect } from 'vitest'
import type { RouteRecord } from '../../src/feeds/watch-record.ts'
import { itemsOf, listWith, newCaller, watch } from '../api/reseller-calls.ts'
import { NO_GUARD, routes, sync } from '../routes/sync-fixtures.ts'
import { type Answer, bearer, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { fareRows } from './watch-fixtures.ts'

const AT_ONCE = { guard: NO_GUARD, confirmations: 1 }
const AVAILABLE = { list: 'with-availability', ...AT_ONCE } as const
const SUMMER = '/watch-lists/summer/watches'
const PMI_OSL = { departure: 'PMI', destination: 'OSL' }

const recordsOf = (answer: Answer) =>
  itemsOf(answer).map(({ seq, kind, list, reference, route }) => {
    const { departure, destination } = route as RouteRecord['route'] & object
    return `${seq} ${kind} ${departure.iata}-${destination.iata} ${list}/${reference}`
  })

const faultsOf = ({ body }: Answer) =>
  (body.errors as { pointer: string }[] | undefined)?.map(({ pointer }) => pointer)

describe('a watch of a route', () => {
  it('its feed has what happens to the route, in one order with other records, and no fare is checked', async ({
    db,
  }) => {
    const ana = await newCaller(db, await startApi(db), 'ana')
    await sync(db, routes('PMI-MAD'))
    await sync(db, routes('PMI-MAD'), AVAILABLE)
    await listWith(ana, 'summer', [
      { reference: 'oslo', route: { ...PMI_OSL, eitherDirection: true } },
      { reference: 'out', route: PMI_OSL },
    ])

    await sync(db, routes('PMI-MAD', 'PMI-OSL', 'OSL-PMI'))
    await sync(db, routes('PMI-MAD', 'PMI-OSL'), AVAILABLE)
    await sync(db, routes('PMI-MAD', 'OSL-PMI'), AT_ONCE)

    expect(recordsOf(await ana.get('/watch-changes'))).toEqual([
      '1 route_added OSL-PMI summer/oslo',
      expect.stringMatching(/^2 route_added PMI-OSL summer\/(oslo|out)$/),
      expect.stringMatching(/^3 route_added PMI-OSL summer\/(oslo|out)$/),
      expect.stringMatching(/^4 route_gained_availability PMI-OSL/),
      expect.stringMatching(/^5 route_gained_availability PMI-OSL/),
      expect.stringMatching(/^6 route_removed PMI-OSL/),
      expect.stringMatching(/^7 route_removed PMI-OSL/),
    ])
    expect(await fareRows(db)).toEqual([])
  })

  it('a watch is of a flight or of a route, and one of a route has no settings of fares', async ({
    db,
  }) => {
    const ana = await newCaller(db, await startApi(db), 'ana')
    await ana.send('POST', '/watch-lists', { name: 'summer' })
    const save = async (given: object) => faultsOf(await ana.send('PUT', `${SUMMER}/x`, given))

    expect(await save({})).toEqual(['/flightId', '/passengers'])
    expect(await save({ ...watch('x'), reference: undefined, route: PMI_OSL })).toEqual([
      '/flightId',
      '/passengers/nonResidents/adults',
    ])
    expect(await save({ route: PMI_OSL, priceThresholdPercent: '5', priority: 'high' })).toEqual([
      '/priceThresholdPercent',
      '/priority',
    ])
    expect(await save({ route: { departure: 'Palma', destination: 'OSL' } })).toEqual([
      '/route/departure',
    ])
    expect(await save({ route: PMI_OSL })).toBeUndefined()
  })

  it('a watch of a fare becomes one of a route, and its fare is checked no more', async ({
    db,
  }) => {
    const ana = await newCaller(db, await startApi(db), 'ana')
    await listWith(ana, 'summer', [watch('A-1')])

    const changed = await ana.send('PATCH', `${SUMMER}/A-1`, { flightId: null, route: PMI_OSL })

    expect(changed.body).toMatchObject({ flightId: null, route: PMI_OSL })
    expect(await fareRows(db)).toEqual([expect.objectContaining({ watchers: 0 })])
  })

  it('a file of routes alone needs no flights', async ({ db }) => {
    const ana = await newCaller(db, await startApi(db), 'ana')
    await ana.send('POST', '/watch-lists', { name: 'summer' })
    const body = 'reference,departure,destination\nback,OSL,PMI\n'
    const headers = { ...bearer(ana.key), 'content-type': 'text/csv' }

    const saved = await ana.get(SUMMER, { method: 'POST', headers, body })

    expect(saved.body).toMatchObject({ added: 1 })
  })
})
