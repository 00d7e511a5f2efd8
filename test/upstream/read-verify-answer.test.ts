import { describe, expect, it } from 'vitest'
import { createScrub } from '../../src/platform/base/secrets.ts'
import { readVerifyAnswer } from '../../src/upstream/fares/read-verify-answer.ts'
import type { FlightSummary, ObservedFlight, VerifyAnswer } from '../../src/upstream/observation.ts'
import type { Question } from '../../src/upstream/question.ts'
import { available, flight, price, question, segment } from './verify-fixtures.ts'

const SECRET = 'a-secret-token'

function read(body: unknown, parts: Partial<Question> = {}): VerifyAnswer {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return readVerifyAnswer([Buffer.from(text)], question(parts), createScrub([SECRET]))
}

function flightIn(answer: VerifyAnswer): ObservedFlight {
  if (answer.outbound.kind !== 'available') throw new Error(`${answer.detail}`)
  return answer.outbound.flight
}

const TWO_ADULTS = {
  residents: { adults: 1, children: 0, infants: 0 },
  nonResidents: { adults: 1, children: 0, infants: 0 },
}

describe('a flight', () => {
  it('is available with its compared and shown parts', () => {
    const answer = read(available())

    expect(answer).toEqual({
      outbound: {
        kind: 'available',
        flight: {
          price: {
            amount: '84.50',
            currency: 'EUR',
            residents: { adult: null, child: null, infant: null },
            nonResidents: { adult: '84.50', child: null, infant: null },
          },
          priceIsOdd: false,
          totalUnlikeSum: false,
          identity: 'airline 7, legs 2, 101 to 103, 2026-07-20',
          itinerary:
            '2026-07-20 08:00 to 2026-07-20 11:45; ' +
            '11: 101 2026-07-20 08:00 to 102 2026-07-20 09:30; ' +
            '12: 102 2026-07-20 10:30 to 103 2026-07-20 11:45',
          departsAt: '2026-07-20 08:00',
          flight: {
            from: 'PMI',
            to: 'VGO',
            airline: 'Tramontana Air',
            airlineCode: 'T1',
            numbers: [11, 12],
            departsAt: '2026-07-20 08:00',
            arrivesAt: '2026-07-20 11:45',
            stops: ['MAD'],
            places: {
              from: { id: '101', city: 'Palma', country: 'Spain' },
              to: { id: '103', city: 'Vigo', country: 'Spain' },
              stops: [{ id: '102', city: 'Madrid', country: 'Spain' }],
            },
            site: { id: '1', name: 'Site', url: 'https://site.invalid/' },
          },
        },
      },
      return: null,
      anomalies: [],
    })
  })

  it.each<[string, unknown, unknown]>([
    ['no site', undefined, undefined],
    ['a site that is a text', 'https://site.invalid/', undefined],
    ['a site without a text', { id: null, name: {}, url: [] }, undefined],
    ['a name alone', { name: 'Site' }, { id: null, name: 'Site', url: null }],
    ['an id as text', { id: '1' }, { id: '1', name: null, url: null }],
    [
      'another scheme, which stays a text',
      { url: 'javascript:alert(1)' },
      { id: null, name: null, url: 'javascript:alert(1)' },
    ],
    [
      'control characters, changes of direction and the credential',
      { name: `A\u0000\u001b[2J\nB ${SECRET}`, url: `https://a.invalid/\r\n\u202ex?t=${SECRET}` },
      { id: null, name: 'A [2J B [redacted]', url: 'https://a.invalid/ x?t=[redacted]' },
    ],
    [
      'an endless name and address',
      { name: 'N'.repeat(9_999), url: `https://${'u'.repeat(9_999)}` },
      { id: null, name: `${'N'.repeat(99)}…`, url: null },
    ],
  ])('with %s stays available, and its site is safe to show', (_, site, shown) => {
    const answer = read(available(flight({ site })))

    expect(flightIn(answer).flight.site).toEqual(shown)
  })

  it.each<[unknown, string | null]>([
    [29.3, '29.30'],
    [0, '0.00'],
    [-1, null],
    [1e300, null],
    ['29.30', null],
    [[29.3], null],
    [null, null],
  ])('with %j as the price of a resident adult keeps %j', (adult, kept) => {
    const mix = { ...TWO_ADULTS, nonResidents: { adults: 0, children: 0, infants: 0 } }
    const residents = { adult, child: null, infant: null }
    const body = available(flight({ price: { ...price(), residents, nonResidents: {} } }))

    expect(flightIn(read(body, { passengers: mix })).price?.residents?.adult).toBe(kept)
  })

  it.each(['__proto__', 'constructor', 'toString', 'á"\\日本', '9007199254740993'])(
    'is found under the id %s',
    (flightId) => {
      const body = `{${JSON.stringify(flightId)}:{"available":false}}`

      expect(read(body, { flightId }).outbound).toEqual({ kind: 'unavailable' })
      expect(read({}, { flightId }).outbound).toEqual({ kind: 'unknown', reason: 'id_missing' })
    },
  )
})

it.each([
  ['a price that rounding explains', '105.62', []],
  ['a cent more', '105.66', ['total_unlike_sum']],
])('an answer for residents and others adds up their prices: %s', (_what, total, anomalies) => {
  const each = (adult: number) => ({ adult, child: null, infant: null })
  const sum = { total, residents: each(21.125), nonResidents: each(84.5) }

  const answer = read(available({ price: price(sum) }), { passengers: TWO_ADULTS })

  expect(answer.anomalies).toEqual(anomalies)
})

it('an anomaly is counted once for each answer', () => {
  const body = { ...available({ x: 1 }), ...available({ x: 1, id: 99 }, '99') }

  expect(read(body, { returnFlightId: '99' }).anomalies).toEqual(['unknown_fields'])
})

/** A flight without stops between places with these codes at these local times of a day. */
function trip(
  [from, to]: readonly [string, string],
  [departs, arrives]: readonly [string, string],
  seconds?: number,
): FlightSummary {
  const parts = {
    from: { id: 1, iata: from, city: 'A', country: 'RU' },
    to: { id: 2, iata: to, city: 'B', country: 'RU' },
    dates: { departure: `2026-07-20 ${departs}`, arrival: `2026-07-20 ${arrives}` },
    duration: { human: '', seconds },
  }
  return flightIn(read(available({ ...parts, legs: [segment(parts)] }))).flight
}

describe('an answer that our time zones contradict', () => {
  it.each([
    // Novosibirsk is at UTC+7. Where the departure is farther west in our table, an instant of its zone is later.
    ['SVO', 'OVB', '10:00', '10:50', 3_000, '2026-07-20T07:00:00.000Z'],
    // Where it is farther east, the duration and the zone of the arrival make the later instant.
    ['PKC', 'OVB', '10:00', '10:50', 3_000, '2026-07-20T03:00:00.000Z'],
    ['MAD', 'PMI', '08:00', '09:15', 4_500 + 3_600, '2026-07-20T06:00:00.000Z'],
    ['MAD', 'PMI', '08:00', '09:15', 4_500 - 3_600, '2026-07-20T07:00:00.000Z'],
    // It allows no instant after the one by the last clocks on earth.
    ['MAD', 'PMI', '08:00', '23:15', -3_600, '2026-07-20T20:00:00.000Z'],
    ['SVO', 'OVB', '10:00', '10:50', undefined, '2026-07-20T22:00:00.000Z'],
    // Fault: A city is called like an airport code, or a zone is unknown.
  ])('counts, and departs by the latest instant: %s to %s', (...given) => {
    const [from, to, departs, arrives, seconds, instant] = given

    expect(trip([from, to], [departs, arrives], seconds).departsBy).toBe(instant)
  })

  it.each(['BAX', 'TOF', 'RGK'])('counts, whatever public tables say of %s', (from) => {
    expect(trip([from, 'OVB'], ['10:00', '10:50'], 3_000)).toMatchObject({ from, to: 'OVB' })
  })

  it.each([
    ['the duration agrees with the zones', ['MAD', 'LHR'], ['08:00', '09:15'], 4_500 + 3_600],
    ['it gives no duration', ['MAD', 'LHR'], ['08:00', '09:15'], undefined],
    ['the duration is inexact', ['MAD', 'PMI'], ['08:00', '09:15'], 4_500 + 3_000],
    ['a place has no known zone', ['MAD', 'ZZZ'], ['08:00', '09:15'], 4_500 + 3_600],
  ] as const)('is none where %s', (_what, places, times, seconds) => {
    expect(trip(places, times, seconds)).not.toHaveProperty('departsBy')
  })
})

describe('the members of an unavailable answer that the interface does not have', () => {
  const members = (body: object) => {
    const { outbound } = read(body)
    return outbound.kind === 'unavailable' ? outbound.members : outbound
  }

  it.each([
    ['in the entry', { 1234: { available: false, message: 'try again' } }, ['message']],
    ['next to it', { 1234: { available: false }, retryAfter: 30 }, ['retryAfter']],
    ['in both, once', { 1234: { available: false, a: 1, b: 2 }, b: 3, c: null }, ['a', 'b', 'c']],
    ['a value that is no entry', { 1234: { available: false }, 99: { seats: 1 } }, ['99']],
    ['named like no flight', { 1234: { available: false }, all: { available: false } }, ['all']],
    ['in another entry', { 1234: { available: false }, 99: { available: false, a: 1 } }, ['a']],
    ['its name safe to show', { 1234: { available: false, [SECRET]: 1 } }, ['[redacted]']],
  ])('are named: %s', (_what, body, names) => {
    expect(members(body)).toEqual(names)
  })

  it('are named up to a number and a length', () => {
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`m${at}`, at]))

    expect(members({ 1234: { available: false, ...many } })).toHaveLength(9)
    const [long = ''] = members({ 1234: { available: false, ['x'.repeat(9_000)]: 1 } }) as string[]
    expect(long.length).toBeLessThanOrEqual(40)
  })

  it('are those next to the entries for both flights, and those of its own entry for each', () => {
    const body = { 1234: { available: false, a: 1 }, 99: { available: false, b: 1 }, c: 1 }

    const answer = read(body, { returnFlightId: '99' })

    expect(answer.outbound).toEqual({ kind: 'unavailable', members: ['a', 'c'] })
    expect(answer.return).toEqual({ kind: 'unavailable', members: ['b', 'c'] })
  })
})

describe('a place', () => {
  it.each([
    [{ iata: 'PMI', city: 'Palma' }, 'PMI'],
    [{ iata: 'pmi', city: 'Palma' }, 'PMI'],
    [{ iata: '', city: 'Nis' }, 'Nis'],
    [{ iata: null, city: 'Pau' }, 'Pau'],
    // Three capital letters are a code wherever a flight is shown.
    [{ city: 'PAU' }, '101'],
    [{ city: '' }, '101'],
  ])('%j is shown as %s', (place, shown) => {
    const from = { id: 101, country: 'Spain', ...place }

    expect(flightIn(read(available({ from }))).flight.from).toBe(shown)
  })
})

describe('identity and itinerary', () => {
  it('are the same for an id as a number and as text', () => {
    const first = flightIn(read(available()))
    const second = flightIn(read(available({ airline: { id: '7' } })))

    expect(second.identity).toBe(first.identity)
  })

  it('contain every digit of an id', () => {
    const text = JSON.stringify(
      available(
        { id: 'ID', airline: { id: 'AIRLINE', name: 'A', twoLetterCode: 'A1' } },
        '9007199254740993',
      ),
    )
      .replace('"ID"', '9007199254740993')
      .replace('"AIRLINE"', '9007199254740995')
    const answer = read(text, { flightId: '9007199254740993' })

    expect(answer.anomalies).toEqual([])
    expect(flightIn(answer).identity).toContain('airline 9007199254740995,')
  })

  it.each([
    ['airline', { airline: { id: 8 } }],
    ['number of legs', { legs: [segment()] }],
    ['origin', { from: { id: 100 } }],
    ['destination', { to: { id: 100 } }],
    ['date', { dates: { departure: '2026-07-21 08:00', arrival: '2026-07-21 11:45' } }],
  ])('differ if the %s differs: a change of identity', (_what, parts) => {
    expect(flightIn(read(available(parts))).identity).not.toBe(flightIn(read(available())).identity)
  })

  it.each([
    ['time', { dates: { departure: '2026-07-20 08:05', arrival: '2026-07-20 11:45' } }],
    ['flight number', { legs: [segment({ number: 13 }), ...flight().legs.slice(1)] }],
    ['stop', { legs: [segment({ to: { id: 105 } }), ...flight().legs.slice(1)] }],
  ])('differ if a %s differs: a change of the itinerary alone', (_what, parts) => {
    const before = flightIn(read(available()))
    const after = flightIn(read(available(parts)))

    expect(after.identity).toBe(before.identity)
    expect(after.itinerary).not.toBe(before.itinerary)
  })

  it('do not depend on price, names and addresses', () => {
    const renamed = { airline: { id: 7, name: 'T' }, price: price({ total: '1.00' }), site: {} }
    const before = flightIn(read(available()))
    const after = flightIn(read(available(renamed)))

    expect([after.identity, after.itinerary]).toEqual([before.identity, before.itinerary])
  })
})

it('shown texts are cleaned, cut and free of secrets, and a missing text is replaced by the next field', () => {
  const { flight: shown } = flightIn(
    read(
      available({
        from: { id: 101, iata: '', city: `Palma\u0000\n${SECRET}` },
        to: { id: 103 },
        airline: { id: 7, name: 'x'.repeat(500) },
      }),
    ),
  )

  expect(shown.from).toBe('Palma [redacted]')
  expect(shown.to).toBe('103')
  expect(shown.airline).toHaveLength(100)
})
