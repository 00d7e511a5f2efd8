import { describe, expect } from 'vitest'
import { type Answer, ask, bearer } from '../support/api-server.ts'
import { watchRows } from '../watches/watch-fixtures.ts'
import { itemsOf, listWith, type ResellerCalls, watch } from './reseller-calls.ts'
import { it, type SharedApi } from './shared-api.ts'

const LIST = '/watch-lists/summer'
const WATCHES = `${LIST}/watches`
const COUNTS = { added: 0, changed: 0, unchanged: 0, ended: 0, cleared: 0, skipped: 0 }
const NONE = { ...COUNTS, watches: [], errors: [], warnings: [] }
const PAST = { departsOn: '2020-01-01' }

function sendCsv({ base }: SharedApi, { key }: ResellerCalls, lines: readonly string[]) {
  return ask(`${base}/api/v1${WATCHES}`, {
    method: 'POST',
    headers: { ...bearer(key), 'content-type': 'text/csv; charset=utf-8' },
    body: lines.join('\r\n'),
  })
}

function faultsOf({ status, body }: Answer): unknown {
  if (status !== 400) return { status, body }
  return (body.errors as { pointer: string; detail: string }[] | undefined)?.map(
    ({ pointer, detail }) => `${pointer} ${detail}`,
  )
}

describe('a body of CSV', () => {
  it('a file of an import is saved with the same meaning as the same watches in JSON', async ({
    api,
    ana,
  }) => {
    await ana.send('POST', '/watch-lists', { name: 'summer' })
    const saved = await sendCsv(api, ana, [
      '\ufeffreference;flight_id;return_flight_id;residents_adults;non_residents_adults;departs_on;list',
      'A-1;101;202;1;0;2027-01-10;summer',
      '"A ""2""";0101;;0;2;;',
      '',
    ])
    const passengers = { residents: { adults: 1 } }
    const first = watch('A-1', { returnFlightId: '202', passengers, departsOn: '2027-01-10' })
    const two = { nonResidents: { adults: 2 } }
    const watches = [first, watch('A "2"', { flightId: '0101', passengers: two })]
    const same = await ana.send('POST', WATCHES, { watches })
    expect(saved).toMatchObject({ status: 200, body: { added: 2, unchanged: 0, warnings: [] } })
    expect(saved.body.watches).toMatchObject([{ reference: 'A "2"' }, { reference: 'A-1' }])
    expect(same.body).toEqual({ ...NONE, unchanged: 2, watches: saved.body.watches })
  })

  it('invalid rows are reported by line and column, and nothing is changed', async ({
    api,
    ana,
  }) => {
    await ana.send('POST', '/watch-lists', { name: 'summer' })
    const header = 'list,reference,flight_id,residents_adults,non_residents_adults,departs_on'
    for (const [rows, faults] of [
      [
        ['summer,A-1,101,1,0,', 'winter,A-2,101,0,0,soon', ',A-1,101,1,0,', 'summer,A-3,101,1,0'],
        [
          '/3/list must be "summer" as in the address, or empty',
          '/3/departs_on must be a date such as 2026-01-31, not "soon"',
          '/3 there must be at least one adult',
          '/4/reference "A-1" is already in the list "summer", on line 2',
        ],
      ],
      [[',A-1,101,1,0,', ',A-2,101,1,0,2020-01-01'], ['/3/departs_on 2020-01-01 has passed']],
    ] as const) {
      expect(faultsOf(await sendCsv(api, ana, [header, ...rows]))).toEqual(faults)
    }
    expect(await watchRows(api.db, ana.resellerId)).toEqual([])
  })
})

describe('saving watches', () => {
  it('a dry run counts what the request would do, and changes nothing', async ({ api, ana }) => {
    await listWith(ana, 'summer', [watch('A-1', { departsOn: '2027-01-10' }), watch('A-2')])
    const before = await watchRows(api.db, ana.resellerId)
    const body = { watches: [watch('A-1'), watch('A-2'), watch('A-3')] }
    const counts = { ...NONE, added: 1, changed: 1, unchanged: 1, cleared: 1 }
    const pointer = '/watches/1/departsOn'
    const mixed = { watches: [watch('B-1'), watch('A-1', PAST)] }
    await ana.play(
      [`POST ${WATCHES}?dryRun=true`, body, counts],
      [`POST ${WATCHES}?dryRun=true`, mixed, { status: 400, errors: [{ pointer }] }],
      [
        `POST ${WATCHES}?dryRun=true&skipInvalid=true`,
        mixed,
        { ...NONE, added: 1, skipped: 1, errors: [{ pointer }] },
      ],
      ['POST /watch-lists/winter/watches?dryRun=true&createList=true', body, { ...NONE, added: 3 }],
      ['GET /watch-lists/winter', undefined, 404],
    )
    expect(await watchRows(api.db, ana.resellerId)).toEqual(before)
    const done = await ana.send('POST', WATCHES, body)
    expect(done.body).toEqual({ ...counts, watches: itemsOf(await ana.get(WATCHES)) })
  })

  it('a list that does not exist is created only if the request says so', async ({ ana }) => {
    const body = { watches: [watch('A-1')] }
    await ana.play(
      [`POST ${WATCHES}`, body, { status: 404, code: 'not_found' }],
      ['GET /watch-lists', undefined, { items: [] }],
      [`POST ${WATCHES}?createList=true`, body, { added: 1 }],
      [`POST ${WATCHES}?createList=true`, body, { unchanged: 1 }],
      ['POST /watch-lists/%20x/watches?createList=true', body, { status: 400, parameter: 'list' }],
    )
  })
})

it('one call deletes many watches by their references, all or none, and the list stays', async ({
  ana,
}) => {
  const references = Array.from({ length: 300 }, (_, i) => `R${i}`)
  const watches = references.map((reference) => watch(reference, { flightId: reference }))
  await listWith(ana, 'summer', watches)
  await ana.play(
    [`POST ${LIST}/delete`, { references: ['R0', 'X'] }, { status: 404, code: 'not_found' }],
    [`POST ${LIST}/delete`, {}, { status: 400, code: 'request.invalid_body' }],
    [`GET ${LIST}`, undefined, { watches: 300 }],
    [`POST ${LIST}/delete`, { references: references.slice(1) }, { watches: 299 }],
    [`GET ${LIST}`, undefined, { watches: 1 }],
  )
})

describe('one watch', () => {
  it('what the body of a change names is changed, and the rest stays', async ({ ana }) => {
    const settings = {
      returnFlightId: '202',
      passengers: { residents: { adults: 1, children: 2 }, nonResidents: { adults: 1 } },
      priceThresholdPercent: '5',
      departsOn: '2027-01-10',
      minIntervalSeconds: 600,
      priority: 'urgent',
    }
    await listWith(ana, 'summer', [watch('A-1', settings), watch('A-2')])
    const PATCH = `PATCH ${WATCHES}/A-1`
    const before = (await ana.get(`${WATCHES}/A-1`)).body
    const { beganAt, ...kept } = before
    const changed = { priceThresholdAmount: '7.5', minIntervalSeconds: null }
    const pace = { changesPerDay: 1, expectedIntervalSeconds: 60 }
    await ana.play(
      [PATCH, {}, before],
      [PATCH, { ...changed, priceThresholdAmount: '7.50' }, { ...before, ...changed, pace }],
      [PATCH, { priority: 'soon' }, { code: 'watch.invalid_rows', pointer: '/priority' }],
      [PATCH, { priority: null }, { priority: 'normal' }],
      [
        PATCH,
        { passengers: { residents: { children: 1 } }, returnFlightId: null },
        {
          watchId: kept.watchId,
          returnFlightId: null,
          passengers: {
            residents: { adults: 1, children: 1, infants: 0 },
            nonResidents: { adults: 1, children: 0, infants: 0 },
          },
          departsOn: '2027-01-10',
          beganAt: expect.not.stringContaining(String(beganAt)),
        },
      ],
      [`GET ${LIST}`, undefined, { watches: 2 }],
    )
  })

  it('is created by PUT with an address, or replaced with all its settings, and answered as when it is read', async ({
    ana,
  }) => {
    await ana.send('POST', '/watch-lists', { name: 'high summer' })
    const path = '/watch-lists/high%20summer/watches/A%201'
    const { reference: _, ...question } = watch('A 1', { flightId: '401' })
    const fewer = { ...question, priority: 'high' }
    const settings = { ...fewer, departsOn: '2099-01-01' }
    const made = await ana.send('PUT', path, settings)
    const again = await ana.send('PUT', path, settings)
    const replaced = await ana.send('PUT', path, { ...fewer, flightId: '202' })
    const wrong = await ana.send('PUT', path, { ...settings, ...PAST })
    const { watchId } = made.body
    expect(made).toMatchObject({ status: 201, body: { reference: 'A 1', status: 'new' } })
    expect(again).toMatchObject({ status: 200, text: made.text })
    expect(replaced).toMatchObject({
      status: 200,
      body: { watchId, flightId: '202', priority: 'high', departsOn: null },
    })
    expect([made, again].map(({ headers }) => headers.get('location'))).toEqual([
      `/api/v1${path}`,
      null,
    ])
    expect(faultsOf(wrong)).toEqual(['/departsOn 2020-01-01 has passed'])
    const read = await ana.get(path)
    expect(read.body).toEqual(replaced.body)
    expect(read.headers.get('etag')).toBe(replaced.headers.get('etag'))
    expect(read.headers.get('etag')).not.toBe(made.headers.get('etag'))
  })

  it('has one shape wherever it is shown', async ({ ana }) => {
    await ana.send('POST', '/watch-lists', { name: 'summer' })
    const saved = await ana.send('POST', WATCHES, { watches: [watch('A-1'), watch('A-2')] })
    const shown = saved.body.watches as object[]
    expect(itemsOf(await ana.get(WATCHES))).toEqual(shown)
    expect((await ana.get('/watch-state')).body.watches).toEqual(shown)
    expect((await ana.get(`${WATCHES}/A-1`)).body).toEqual(shown[0])
    expect((await ana.send('PATCH', `${WATCHES}/A-1`, {})).body).toEqual(shown[0])
  })

  it('has its intents in canonical form, has none after null, and is refused wrong ones with their place', async ({
    ana,
  }) => {
    await ana.send('POST', '/watch-lists', { name: 'summer' })
    const { reference: _, ...question } = watch('A-1')
    const paid = { amount: '120.00', currency: 'EUR' }
    const below = { amount: '80', currency: 'EUR' }
    const PUT = `PUT ${WATCHES}/A-1`
    const given = { priceBelow: below, priceDrop: { paid, percent: '05.0' }, newLowDays: 30 }
    const shown = {
      priceBelow: { ...below, amount: '80.00' },
      priceDrop: { paid, percent: '5' },
      newLowDays: 30,
    }
    await ana.play(
      [PUT, { ...question, intents: given }, { intents: shown }],
      [`PATCH ${WATCHES}/A-1`, { intents: null }, { intents: null }],
    )
    for (const [intents, place, detail] of [
      [{ priceBelow: { ...below, amount: '0' } }, 'priceBelow/amount', 'must be an amount above 0'],
      [
        { priceBelow: { ...below, currency: 'eur' } },
        'priceBelow/currency',
        'must be three capital',
      ],
      [
        { priceDrop: { paid } },
        'priceDrop/amount',
        'or price_drop_percent, not both, must be given',
      ],
      [{ priceDrop: { paid, amount: '120' } }, 'priceDrop/amount', 'must be less than paid_amount'],
      [
        { priceDrop: { paid, percent: '100' } },
        'priceDrop/percent',
        'must be above 0 and below 100',
      ],
      [{ newLowDays: 1 }, 'newLowDays', 'must be a whole number from 2 to 365'],
    ] as const) {
      const [fault] = faultsOf(
        await ana.send('PUT', `${WATCHES}/A-1`, { ...question, intents }),
      ) as string[]
      expect(fault).toContain(`/intents/${place} ${detail}`)
    }
  })
})
