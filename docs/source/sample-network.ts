/**
 * A network of three years for the charts of docs/reference/worked-questions.md: real airports, invented routes. The same
 * seed makes the same network.
 */
import { createRandom, type Random } from '../../bench/schedule/random.ts'

/** The day of the baseline; every other day is a number of days after it. */
export const FIRST_DAY = Date.UTC(2023, 6, 1)
const DAYS = 1_096
const DAY = 86_400_000

export interface Place {
  readonly iata: string
  readonly city: string
  readonly country: string
  /** How many routes it attracts, compared with other places. */
  readonly weight: number
}

/** The first and the last day of an interval, [from, to). Without an end it lasts. */
export type Interval = readonly [from: number, to: number | null]

export interface Route {
  readonly from: string
  readonly to: string
  readonly intervals: readonly Interval[]
}

/** Prices of a route's fares on one day, at a number of days to departure. */
export interface PricedDay {
  readonly day: number
  readonly from: string
  readonly to: string
  readonly daysToDeparture: number
  readonly fares: number
  readonly bookable: number
  readonly median: number
}

export interface SampleNetwork {
  readonly days: number
  readonly places: readonly Place[]
  readonly routes: readonly Route[]
  readonly prices: readonly PricedDay[]
}

const PLACES: readonly Place[] = (
  [
    [
      'Spain',
      'MAD Madrid 9, BCN Barcelona 8, PMI Palma 6, AGP Málaga 4, IBZ Ibiza 3, MAH Menorca 2, SVQ Sevilla 2, VGO Vigo 1, MLN Melilla 1, VDE El_Hierro 1',
    ],
    ['Portugal', 'LIS Lisbon 6, OPO Porto 4, FAO Faro 3, FNC Funchal 2, CVU Corvo 1'],
    [
      'France',
      'CDG Paris 9, NCE Nice 4, LYS Lyon 3, MRS Marseille 3, TLS Toulouse 2, AJA Ajaccio 1',
    ],
    [
      'Italy',
      'FCO Rome 7, MXP Milan 6, NAP Naples 3, VCE Venice 3, CTA Catania 3, OLB Olbia 2, LMP Lampedusa 1',
    ],
    ['Germany', 'FRA Frankfurt 8, MUC Munich 7, BER Berlin 5, HAM Hamburg 3, DUS Düsseldorf 4'],
    ['Greece', 'ATH Athens 5, HER Heraklion 3, RHO Rhodes 3, SKG Thessaloniki 2, JTR Santorini 2'],
    ['United Kingdom', 'LHR London 9, MAN Manchester 4, EDI Edinburgh 3, BRS Bristol 2'],
    ['Norway', 'OSL Oslo 4, BGO Bergen 2, TOS Tromsø 2'],
    ['Switzerland', 'ZRH Zurich 5, GVA Geneva 4'],
    ['Austria', 'VIE Vienna 5, INN Innsbruck 2'],
  ] as const
).flatMap(([country, list]) =>
  list.split(', ').map((entry) => {
    const [iata = '', city = '', weight = ''] = entry.split(' ')
    return { iata, city: city.replace('_', ' '), country, weight: Number(weight) }
  }),
)

/** Months in which the seasonal routes of a place fly, [first, last]: beaches in summer, snow in winter. */
const SEASONS: Readonly<Record<string, readonly [number, number]>> = {
  ...Object.fromEntries(
    ['PMI', 'IBZ', 'MAH', 'FAO', 'AJA', 'OLB', 'LMP', 'HER', 'RHO', 'JTR', 'CTA', 'AGP'].map(
      (iata) => [iata, [4, 10]],
    ),
  ),
  ...Object.fromEntries(['INN', 'TOS', 'GVA'].map((iata) => [iata, [12, 3]])),
}

/** Days without any route from or to a place. */
const CLOSURES: readonly { readonly iata: string; readonly interval: readonly [number, number] }[] =
  [
    { iata: 'VDE', interval: [210, 224] },
    { iata: 'MLN', interval: [590, 611] },
    { iata: 'IBZ', interval: [934, 938] },
    { iata: 'MAD', interval: [555, 557] },
    { iata: 'VDE', interval: [1_040, 1_049] },
  ]

export function sampleNetwork(seed = 1): SampleNetwork {
  const random = createRandom(seed)
  const routes = PLACES.flatMap((one, i) =>
    PLACES.slice(i + 1).flatMap((other) => routesBetween(random, one, other)),
  )
  return { days: DAYS, places: PLACES, routes, prices: samplePrices(random, routes.slice(0, 40)) }
}

/** Day as an instant in ms: the hour of the daily list. */
export function instantOf(day: number): number {
  return FIRST_DAY + day * DAY + 6 * 3_600_000
}

/** Both directions, in some cases one, or none. */
function routesBetween(random: Random, one: Place, other: Place): Route[] {
  if (random.uniform() > (one.weight * other.weight) / 40) return []
  const flown = flownDays(random, one, other)
  const directions = [
    { from: one.iata, to: other.iata },
    { from: other.iata, to: one.iata },
  ]
  const flownIn = random.uniform() < 0.06 ? directions.slice(0, 1) : directions
  const intervals = CLOSURES.filter(({ iata }) => iata === one.iata || iata === other.iata).reduce(
    (left, { interval }) => without(left, interval),
    flown,
  )
  return intervals.length === 0 ? [] : flownIn.map((ends) => ({ ...ends, intervals }))
}

function flownDays(random: Random, one: Place, other: Place): readonly Interval[] {
  const season = SEASONS[one.iata] ?? SEASONS[other.iata]
  const kind = random.uniform()
  if (season !== undefined && kind < 0.6) return seasons(random, season)
  // New routes fail early or stay: two exponential lives.
  if (kind > 0.75) {
    const begins = 1 + Math.floor(random.uniform() * (DAYS - 2))
    const life = 7 + Math.floor(random.exponential(random.uniform() < 0.4 ? 120 : 1_500))
    return [[begins, begins + life < DAYS ? begins + life : null]]
  }
  const ends = Math.floor(random.exponential(6_000)) + 30
  return [[0, ends < DAYS ? ends : null]]
}

/** A season each year, from the month `first` to the month `last`, a few days earlier or later. */
function seasons(random: Random, [first, last]: readonly [number, number]): Interval[] {
  const dayOf = (year: number, month: number) =>
    Math.round((Date.UTC(year, month - 1, 1) - FIRST_DAY) / DAY + random.uniform() * 24 - 12)
  return [2022, 2023, 2024, 2025, 2026].flatMap((year): Interval[] => {
    const from = Math.max(0, dayOf(year, first))
    const to = dayOf(last < first ? year + 1 : year, last + 1)
    return from < DAYS && to > from ? [[from, to < DAYS ? to : null]] : []
  })
}

/** The intervals without the days [from, to). */
export function without(
  intervals: readonly Interval[],
  [from, to]: readonly [number, number],
): readonly Interval[] {
  return intervals.flatMap(([begins, ends]): Interval[] => {
    const left: Interval[] = begins < from ? [[begins, Math.min(from, ends ?? from)]] : []
    const right: Interval[] = ends === null || ends > to ? [[Math.max(begins, to), ends]] : []
    return [...left, ...right]
  })
}

/** Prices rise in the last three weeks, and fares sell out. Six days to departure, each tenth day of the last year. */
function samplePrices(random: Random, routes: readonly Route[]): PricedDay[] {
  return routes.flatMap(({ from, to }) => {
    const base = 40 + random.exponential(80)
    return Array.from({ length: 36 }, (_, i) => DAYS - 360 + i * 10).flatMap((day) =>
      Array.from({ length: 21 }, (_, i) => i * 3).map((daysToDeparture) => {
        const near = Math.max(0, 21 - daysToDeparture) / 21
        const fares = 20
        const bookable = Math.round(fares * (0.97 - 0.4 * near ** 2 - 0.05 * random.uniform()))
        const median =
          Math.round(100 * base * (0.9 + 0.8 * near ** 1.5 + 0.1 * random.normal())) / 100
        return { day, from, to, daysToDeparture, fares, bookable, median: Math.max(median, 9) }
      }),
    )
  })
}
