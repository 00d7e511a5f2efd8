import { describe, expect, it } from 'vitest'
import { changeSentence } from '../../src/delivery/formats/change-sentence.ts'
import type { Belief, Flight } from '../../src/feeds/change-shapes.ts'
import { endAt, flownBy, OUT } from './message-fixtures.ts'

const BACK: Flight = {
  ...OUT,
  numbers: [1580, 77],
  departure: endAt('BCN', '2027-01-09 18:00'),
  arrival: endAt('PMI', '2027-01-09 19:00'),
}

type Leg = Belief['outbound']

const leg = (
  belief: Leg['belief'],
  flight: Flight | null = belief === 'available' ? OUT : null,
): Leg => ({ belief, price: null, passengerPrices: null, flight })
const euros = (amount: string) => ({ amount, currency: 'EUR' })
const fare = (
  state: Belief['state'],
  outbound: Leg,
  back: Leg | null,
  price: Belief['price'] = null,
): Belief => ({ state, outbound, return: back, price })

const OPEN = fare('bookable', leg('available'), null, euros('348.81'))
const GONE = fare('not_bookable', leg('unavailable'), null)
const PAIR = fare('bookable', leg('available'), leg('available', BACK), euros('348.81'))
const UNKNOWN = fare('unknown', leg('unknown'), null)

const sentence = (kind: string, before: Belief | null, after: Belief, reason?: string) =>
  changeSentence({ kind, reason: reason ?? null, flightId: '101', before, after }, 2026)

describe('the sentence of a change', () => {
  it.each<[string, string | undefined, Belief | null, Belief, string]>([
    ['became_unavailable', 'sold_out', OPEN, GONE, 'sold out (was 348.81 EUR)'],
    ['became_unavailable', 'sales_closed', OPEN, GONE, 'sales closed (was 348.81 EUR)'],
    ['became_unavailable', 'unknown', OPEN, GONE, 'no longer available (was 348.81 EUR)'],
    ['became_unavailable', undefined, { ...OPEN, price: null }, GONE, 'no longer available'],
    ['became_available', undefined, GONE, OPEN, 'can be booked for 348.81 EUR'],
    [
      'became_available',
      undefined,
      GONE,
      { ...OPEN, price: null },
      'can be booked, price not known',
    ],
    [
      'price_changed',
      undefined,
      OPEN,
      { ...OPEN, price: euros('400') },
      'price up 15 % from 348.81 to 400 EUR',
    ],
    [
      'price_changed',
      undefined,
      OPEN,
      { ...OPEN, price: euros('99.90') },
      'price down 71 % from 348.81 to 99.90 EUR',
    ],
    [
      'price_changed',
      undefined,
      OPEN,
      { ...OPEN, price: { amount: '300.00', currency: 'USD' } },
      'price 300.00 USD (was 348.81 EUR)',
    ],
    [
      'price_changed',
      undefined,
      OPEN,
      { ...OPEN, price: null },
      'price not known any more (was 348.81 EUR)',
    ],
    ['price_changed', undefined, { ...OPEN, price: null }, OPEN, 'price 348.81 EUR'],
    [
      'legs_changed',
      undefined,
      UNKNOWN,
      { ...GONE, outbound: leg('unavailable', OUT) },
      'not available',
    ],
    [
      'legs_changed',
      undefined,
      OPEN,
      { ...UNKNOWN, outbound: leg('unknown', OUT) },
      'availability not known',
    ],
    ['first_seen', undefined, UNKNOWN, OPEN, 'first seen, can be booked for 348.81 EUR'],
    ['watch_started', undefined, null, OPEN, 'watched from now on, can be booked for 348.81 EUR'],
    ['expired', 'departed', OPEN, UNKNOWN, 'departed'],
    [
      'expired',
      'departs_on_passed',
      OPEN,
      UNKNOWN,
      'no longer watched, its departure date has passed',
    ],
    ['expired', 'never_available', OPEN, UNKNOWN, 'no longer watched, not available in 30 days'],
    ['expired', undefined, OPEN, UNKNOWN, 'no longer watched'],
    ['a_new_kind', undefined, OPEN, OPEN, 'a new kind'],
  ])(
    'the sentence of %s with the reason %s names the flight and what happened',
    (kind, reason, before, after, words) => {
      expect(sentence(kind, before, after, reason)).toBe(
        `PMI → BCN, 24 Nov 10:25, Llevant Airways 1579: ${words}`,
      )
    },
  )

  it('a pair is named with its return flight, which of both was lost, and the year of another year', () => {
    const lost = fare('not_bookable', leg('available'), leg('unavailable'))
    const pair =
      'PMI ⇄ BCN, 24 Nov 10:25, Llevant Airways 1579, back 9 Jan 2027 18:00, Llevant Airways 1580/77'

    expect(sentence('became_unavailable', PAIR, lost, 'sold_out')).toBe(
      `${pair}: sold out (return flight; was 348.81 EUR)`,
    )
    expect(sentence('legs_changed', PAIR, lost)).toBe(
      `${pair}: outbound flight available, return flight not available`,
    )
  })

  it('another flight or itinerary is named with the one before it', () => {
    const later = {
      ...OPEN,
      outbound: leg('available', { ...OUT, departure: endAt('PMI', '2026-11-24 12:00') }),
    }
    const named = 'PMI → BCN, 24 Nov 12:00, Llevant Airways 1579'
    const was = 'was PMI → BCN, 24 Nov 10:25, Llevant Airways 1579'

    expect(sentence('identity_changed', OPEN, later)).toBe(
      `${named}: another flight in its place (${was})`,
    )
    expect(sentence('itinerary_changed', OPEN, later)).toBe(
      `${named}: new times, flight numbers or stops (${was})`,
    )
    expect(sentence('itinerary_changed', OPEN, OPEN)).toMatch(
      /: new times, flight numbers or stops$/,
    )
  })
})

describe('the offer in a sentence', () => {
  const each = (adult: string | null) => ({
    adult: adult === null ? null : euros(adult),
    child: null,
    infant: null,
  })
  const sold = (by: string, adult: string | null, resident: string | null = null): Leg => ({
    ...leg('available', { ...OUT, site: { id: '5', name: by, url: null } }),
    passengerPrices: { residents: each(resident), nonResidents: each(adult) },
  })

  it.each<[string, Leg, Leg | null, string]>([
    [
      'the site and an adult',
      sold('Saffron Airlines', '58.61'),
      null,
      ' at Saffron Airlines, 58.61 an adult',
    ],
    ['no adult where the price is for one', sold('Saffron', '117.22'), null, ' at Saffron'],
    [
      'a resident adult',
      sold('Saffron', null, '29.31'),
      null,
      ' at Saffron, 29.31 a resident adult',
    ],
    [
      'one site of both flights',
      sold('Saffron', '30.00'),
      sold('Saffron', '28.61'),
      ' at Saffron, 58.61 an adult',
    ],
    [
      'both sites',
      sold('Saffron', '30.00'),
      sold('Tramontana', null),
      ' at Saffron and Tramontana',
    ],
    [
      'a hostile site as text',
      sold('www.evil.example', null),
      null,
      ' at www\u2024evil\u2024example',
    ],
  ])('names %s', (_, outbound, back, words) => {
    const offered = fare('bookable', outbound, back, euros('117.22'))

    expect(sentence('became_available', GONE, offered)).toMatch(
      `can be booked for 117.22 EUR${words}`,
    )
    expect(sentence('price_changed', OPEN, offered)).toMatch(`from 348.81 to 117.22 EUR${words}`)
  })
})

describe('the passengers of a sentence', () => {
  const none = { adults: 0, children: 0, infants: 0 }
  it.each([
    [none, { ...none, adults: 1 }, ''],
    [none, { adults: 2, children: 1, infants: 1 }, ', for 2 adults, 1 child, 1 infant'],
    [{ ...none, adults: 1 }, none, ', for 1 resident adult'],
    [{ ...none, children: 2 }, { ...none, adults: 1 }, ', for 2 resident children, 1 adult'],
  ])('%j and %j not resident are named: "%s"', (residents, nonResidents, words) => {
    const change = { kind: 'expired', before: OPEN, after: UNKNOWN }

    expect(changeSentence({ ...change, passengers: { residents, nonResidents } }, 2026)).toBe(
      `PMI → BCN, 24 Nov 10:25, Llevant Airways 1579${words}: no longer watched`,
    )
  })
})

// Fault: Names of the upstream and references with line ends, headers, markup, mentions, links, direction marks.
describe('a hostile name in the sentence of a change', () => {
  const withAirline = (airline: string) =>
    sentence('became_available', GONE, { ...OPEN, outbound: leg('available', flownBy(airline)) })

  it.each([
    ['a line end and a header', 'A\r\nBcc: x', 'A Bcc: x'],
    ['control characters', 'A\u0000\u001b[2J\u0085B', 'A [2J B'],
    ['an override of the direction', 'A\u202eTUO DLOS\u2066\u200f', 'A TUO DLOS'],
    ['characters without width', 'A\u200b\ufeff\u{e0041}B', 'A B'],
    ['a URL', 'https://evil.example/x', 'https evil\u2024example/x'],
    ['a domain and a mention', 'pay@jet2.com @here', 'pay\uff20jet2\u2024com \uff20here'],
    ['a lone surrogate', 'A\ud800B', 'A\ufffdB'],
    ['stacked marks', `A${'\u0301'.repeat(40)}`, `A${'\u0301'.repeat(3)}`],
    ['a script that is written from the right', 'אל על', '\u2068אל על\u2069'],
    ['ten thousand characters', 'A'.repeat(10_000), `${'A'.repeat(59)}…`],
  ])('%s stays text in one line', (_, airline, shown) => {
    expect(withAirline(airline)).toBe(
      `PMI → BCN, 24 Nov 10:25, ${shown} 1579: can be booked for 348.81 EUR`,
    )
  })

  it('a name in every place leaves the sentence below its bound', () => {
    const long = 'X'.repeat(5_000)
    const end = endAt(long, long)
    const site = { id: null, name: long, url: long }
    const numbers = Array(500).fill(9)
    const flight = { ...flownBy(long), numbers, departure: end, arrival: end, site }
    const odd = fare('bookable', leg('available', flight), leg('available', flight), euros('1'))

    expect(sentence('identity_changed', PAIR, odd).length).toBeLessThanOrEqual(400)
  })
})
