import { describe, expect } from 'vitest'
import { type Answer, ask, bearer } from '../support/api-server.ts'
import { watchRows } from '../watches/watch-fixtures.ts'
import { itemsOf, listWith, type ResellerCalls, watch } from './reseller-calls.ts'
import { it, ownCaller, type SharedApi } from './shared-api.ts'

interface Caller extends ResellerCalls {
  csv(path: string, text: string | Uint8Array<ArrayBuffer>): Promise<Answer>
}

async function newCsvCaller(api: SharedApi): Promise<Caller> {
  const ana = await ownCaller(api)
  const csv: Caller['csv'] = (path, body) =>
    ask(`${api.base}/api/v1${path}`, {
      method: 'POST',
      headers: { ...bearer(ana.key), 'content-type': 'text/csv; charset=utf-8' },
      body,
    })
  return { ...ana, csv }
}

const WATCHES = '/watch-lists/summer/watches'
const COUNTS = { added: 0, changed: 0, unchanged: 0, ended: 0, cleared: 0, skipped: 0 }
const NONE = { ...COUNTS, watches: [], errors: [], warnings: [] }

function problem(status: number, code: string): unknown {
  return expect.objectContaining({ status, body: expect.objectContaining({ code }) })
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
  }) => {
    const ana = await newCsvCaller(api)
    await ana.send('POST', '/watch-lists', { name: 'summer' })
    const file = [
      '\ufeffreference;flight_id;return_flight_id;residents_adults;non_residents_adults;departs_on;list',
      'A-1;101;202;1;0;2027-01-10;summer',
      '"A ""2""";0101;;0;2;;',
      '',
    ].join('\r\n')

    const saved = await ana.csv(WATCHES, file)
    const same = await ana.send('POST', WATCHES, {
      watches: [
        watch('A-1', {
          returnFlightId: '202',
          passengers: { residents: { adults: 1 } },
          departsOn: '2027-01-10',
        }),
        watch('A "2"', { flightId: '0101', passengers: { nonResidents: { adults: 2 } } }),
      ],
    })

    expect(saved).toMatchObject({ status: 200, body: { added: 2, unchanged: 0, warnings: [] } })
    expect(saved.body.watches).toMatchObject([{ reference: 'A "2"' }, { reference: 'A-1' }])
    expect(same.body).toEqual({ ...NONE, unchanged: 2, watches: saved.body.watches })
  })

  it('invalid rows are reported by line and column, and nothing is changed', async ({ api }) => {
    const ana = await newCsvCaller(api)
    await ana.send('POST', '/watch-lists', { name: 'summer' })
    const header = 'list,reference,flight_id,residents_adults,non_residents_adults,departs_on'
    const file = (...rows: string[]) => [header, ...rows].join('\n')

    const answer = await ana.csv(
      WATCHES,
      file('summer,A-1,101,1,0,', 'winter,A-2,101,0,0,soon', ',A-1,101,1,0,', 'summer,A-3,101,1,0'),
    )
    const past = await ana.csv(WATCHES, file(',A-1,101,1,0,', ',A-2,101,1,0,2020-01-01'))

    expect(faultsOf(answer)).toEqual([
      '/3/list must be "summer" as in the address, or empty',
      '/3/departs_on must be a date such as 2026-01-31, not "soon"',
      '/3 there must be at least one adult',
      '/4/reference "A-1" is already in the list "summer", on line 2',
    ])
    expect(faultsOf(past)).toEqual(['/3/departs_on 2020-01-01 has passed'])
    expect(await watchRows(api.db, ana.resellerId)).toEqual([])
  })
})

describe('saving watches', () => {
  it('a dry run counts what the request would do, and changes nothing', async ({ api }) => {
    const ana = await newCsvCaller(api)
    await listWith(ana, 'summer', [watch('A-1', { departsOn: '2027-01-10' }), watch('A-2')])
    const before = await watchRows(api.db, ana.resellerId)
    const body = { watches: [watch('A-1'), watch('A-2'), watch('A-3')] }
    const invalid = { watches: [watch('A-1', { departsOn: '2020-01-01' })] }

    const dry = await ana.send('POST', `${WATCHES}?dryRun=true`, body)
    const dryInvalid = await ana.send('POST', `${WATCHES}?dryRun=true`, invalid)
    const mixed = [watch('B-1'), ...invalid.watches]
    const skipping = await ana.send('POST', `${WATCHES}?dryRun=true&skipInvalid=true`, {
      watches: mixed,
    })
    const dryNew = await ana.send(
      'POST',
      '/watch-lists/winter/watches?dryRun=true&createList=true',
      body,
    )

    expect(await watchRows(api.db, ana.resellerId)).toEqual(before)
    expect((await ana.get('/watch-lists/winter')).status).toBe(404)
    expect(dry.body).toEqual({ ...NONE, added: 1, changed: 1, unchanged: 1, cleared: 1 })
    expect(dryNew.body).toEqual({ ...NONE, added: 3 })
    expect(faultsOf(dryInvalid)).toEqual(['/watches/0/departsOn 2020-01-01 has passed'])
    expect(skipping.body).toMatchObject({
      ...NONE,
      added: 1,
      skipped: 1,
      errors: [{ pointer: '/watches/1/departsOn' }],
    })
    const done = await ana.send('POST', WATCHES, body)
    expect(done.body).toEqual({ ...dry.body, watches: itemsOf(await ana.get(WATCHES)) })
  })

  it('a list that does not exist is created only if the request says so', async ({ api }) => {
    const ana = await newCsvCaller(api)
    const body = { watches: [watch('A-1')] }

    const refused = await ana.send('POST', WATCHES, body)
    const none = await ana.get('/watch-lists')
    const created = await ana.send('POST', `${WATCHES}?createList=true`, body)
    const again = await ana.send('POST', `${WATCHES}?createList=true`, body)
    const named = await ana.send('POST', '/watch-lists/%20x/watches?createList=true', body)

    expect(refused).toEqual(problem(404, 'not_found'))
    expect(none.body.items).toEqual([])
    expect(created).toMatchObject({ status: 200, body: { added: 1 } })
    expect(again).toMatchObject({ status: 200, body: { unchanged: 1 } })
    expect(named).toMatchObject({ status: 400, body: { parameter: 'list' } })
  })
})

describe('deleting watches by references', () => {
  it('one call deletes many watches, all of them or none, and the list stays', async ({ api }) => {
    const ana = await newCsvCaller(api)
    const references = Array.from({ length: 300 }, (_, i) => `R${i}`)
    await listWith(
      ana,
      'summer',
      references.map((reference) => watch(reference, { flightId: reference })),
    )

    const some = await ana.send('POST', '/watch-lists/summer/delete', { references: ['R0', 'X'] })
    const all = await ana.send('POST', '/watch-lists/summer/delete', {})
    expect(some).toEqual(problem(404, 'not_found'))
    expect(all).toEqual(problem(400, 'request.invalid_body'))
    expect((await ana.get('/watch-lists/summer')).body.watches).toBe(300)

    const deleted = await ana.send('POST', '/watch-lists/summer/delete', {
      references: references.slice(1),
    })
    expect(deleted).toMatchObject({ status: 200, body: { watches: 299 } })
    expect((await ana.get('/watch-lists/summer')).body.watches).toBe(1)
  })
})

describe('changing one watch', () => {
  it('what the body names is changed, and the rest stays', async ({ api }) => {
    const ana = await newCsvCaller(api)
    const settings = {
      returnFlightId: '202',
      passengers: { residents: { adults: 1, children: 2 }, nonResidents: { adults: 1 } },
      priceThresholdPercent: '5',
      departsOn: '2027-01-10',
      minIntervalSeconds: 600,
      priority: 'urgent',
    }
    await listWith(ana, 'summer', [watch('A-1', settings), watch('A-2')])
    const before = (await ana.get(`${WATCHES}/A-1`)).body
    const patch = (body: object) => ana.send('PATCH', `${WATCHES}/A-1`, body)

    const same = await patch({})
    const changed = await patch({ priceThresholdAmount: '7.50', minIntervalSeconds: null })

    expect(same.status).toBe(200)
    expect(before).toMatchObject(same.body)
    expect(changed.body).toEqual({
      ...same.body,
      priceThresholdAmount: '7.5',
      minIntervalSeconds: null,
      priority: 'urgent',
      pace: { changesPerDay: 1, expectedIntervalSeconds: 60 },
    })
    expect((await patch({ priority: 'soon' })).body).toMatchObject({
      code: 'watch.invalid_rows',
      pointer: '/priority',
    })
    expect((await patch({ priority: null })).body).toMatchObject({ priority: 'normal' })
    const begun = await patch({ passengers: { residents: { children: 1 } }, returnFlightId: null })
    expect(begun.body).toMatchObject({
      watchId: before.watchId,
      returnFlightId: null,
      passengers: {
        residents: { adults: 1, children: 1, infants: 0 },
        nonResidents: { adults: 1, children: 0, infants: 0 },
      },
      departsOn: '2027-01-10',
    })
    expect(begun.body.beganAt).not.toBe(before.beganAt)
    expect((await ana.get('/watch-lists/summer')).body.watches).toBe(2)
  })
})

describe('putting one watch', () => {
  it('creates it with an address, or replaces all its settings, and answers it as reading does', async ({
    api,
  }) => {
    const ana = await newCsvCaller(api)
    await ana.send('POST', '/watch-lists', { name: 'high summer' })
    const path = '/watch-lists/high%20summer/watches/A%201'
    const { reference: _, ...question } = watch('A 1', { flightId: '401' })
    const fewer = { ...question, priority: 'high' }
    const settings = { ...fewer, departsOn: '2099-01-01' }

    const made = await ana.send('PUT', path, settings)
    const again = await ana.send('PUT', path, settings)
    const replaced = await ana.send('PUT', path, { ...fewer, flightId: '202' })
    const wrong = await ana.send('PUT', path, { ...settings, departsOn: '2020-01-01' })

    expect(made).toMatchObject({ status: 201, body: { reference: 'A 1', status: 'new' } })
    expect(made.headers.get('location')).toBe(`/api/v1${path}`)
    expect(again).toMatchObject({ status: 200, text: made.text })
    expect(again.headers.get('location')).toBeNull()
    expect(replaced).toMatchObject({
      status: 200,
      body: { watchId: made.body.watchId, flightId: '202', priority: 'high', departsOn: null },
    })
    expect(faultsOf(wrong)).toEqual(['/departsOn 2020-01-01 has passed'])
    const read = await ana.get(path)
    expect(read.body).toEqual(replaced.body)
    expect(read.headers.get('etag')).toBe(replaced.headers.get('etag'))
    expect(read.headers.get('etag')).not.toBe(made.headers.get('etag'))
  })

  it('a watch has one shape wherever it is shown', async ({ api }) => {
    const ana = await newCsvCaller(api)
    await ana.send('POST', '/watch-lists', { name: 'summer' })

    const saved = await ana.send('POST', WATCHES, { watches: [watch('A-1'), watch('A-2')] })

    const shown = saved.body.watches as object[]
    expect(itemsOf(await ana.get(WATCHES))).toEqual(shown)
    expect((await ana.get('/watch-state')).body.watches).toEqual(shown)
    expect((await ana.get(`${WATCHES}/A-1`)).body).toEqual(shown[0])
    expect((await ana.send('PATCH', `${WATCHES}/A-1`, {})).body).toEqual(shown[0])
  })
})

describe('the intents of a watch', () => {
  const PLACE = `${WATCHES}/A-1`
  const question = { flightId: '101', passengers: { nonResidents: { adults: 1 } } }
  const paid = { amount: '120.00', currency: 'EUR' }

  it('are answered as they were given, in canonical form, and cleared by null', async ({ api }) => {
    const ana = await newCsvCaller(api)
    await ana.send('POST', '/watch-lists', { name: 'summer' })
    const intents = {
      priceBelow: { amount: '80', currency: 'EUR' },
      priceDrop: { paid, percent: '05.0' },
      newLowDays: 30,
    }

    const made = await ana.send('PUT', PLACE, { ...question, intents })
    const cleared = await ana.send('PATCH', PLACE, { intents: null })

    expect(made).toMatchObject({ status: 201 })
    expect(made.body.intents).toEqual({
      priceBelow: { amount: '80.00', currency: 'EUR' },
      priceDrop: { paid, percent: '5' },
      newLowDays: 30,
    })
    expect(cleared.body.intents).toBeNull()
  })

  it('are refused with their place', async ({ api }) => {
    const ana = await newCsvCaller(api)
    await ana.send('POST', '/watch-lists', { name: 'summer' })
    const wrong: [object, string][] = [
      [
        { priceBelow: { amount: '0', currency: 'EUR' } },
        'priceBelow/amount must be an amount above 0',
      ],
      [
        { priceBelow: { amount: '80', currency: 'eur' } },
        'priceBelow/currency must be three capital',
      ],
      [{ priceDrop: { paid } }, 'priceDrop/amount or price_drop_percent, not both, must be given'],
      [
        { priceDrop: { paid, amount: '5', percent: '5' } },
        'priceDrop/amount or price_drop_percent',
      ],
      [{ priceDrop: { paid, amount: '120' } }, 'priceDrop/amount must be less than paid_amount'],
      [{ priceDrop: { paid, percent: '100' } }, 'priceDrop/percent must be above 0 and below 100'],
      [{ newLowDays: 1 }, 'newLowDays must be a whole number from 2 to 365'],
    ]
    for (const [intents, fault] of wrong) {
      const [found] = faultsOf(await ana.send('PUT', PLACE, { ...question, intents })) as string[]

      expect(found).toContain(`/intents/${fault}`)
    }
  })
})
