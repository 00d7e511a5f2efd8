import { createRandom, type Random } from '../../bench/schedule/random.ts'

export const YEAR = 365
/** The last Sunday of October, as a day of the year. */
export const AUTUMN = 298
const COUNTRIES = 30
const ROUTES = 3_000

/** A route with the days on which it is flown, [from, to); several years of a season. */
export interface GeneratedRoute {
  readonly id: number
  readonly country: number
  readonly seasonal: boolean
  readonly days: readonly (readonly [from: number, to: number])[]
}

/** Two years of a network: a quarter of its routes is flown from March to October, and a few routes begin or end each week. */
export function generateNetwork(seed: number): { routes: GeneratedRoute[]; random: Random } {
  const random = createRandom(seed)
  const routes = Array.from({ length: ROUTES }, (_, id): GeneratedRoute => {
    const seasonal = random.uniform() < 0.25
    const country = Math.floor(random.uniform() ** 2 * COUNTRIES)
    return { id, country, seasonal, days: seasonal ? seasons(random) : lives(random) }
  })
  return { routes, random }
}

/** A season ends on the Sunday or a few days around it. */
function seasons(random: Random): (readonly [number, number])[] {
  return [-1, 0, 1].map((year) => {
    const begins = year * YEAR + 88 + Math.round(random.normal() * 3)
    const early = random.uniform() < 0.15 ? Math.floor(random.uniform() * 7) : 0
    return [begins, year * YEAR + AUTUMN - early]
  })
}

function lives(random: Random): (readonly [number, number])[] {
  const begins = random.uniform() < 0.9 ? -YEAR : Math.floor(random.uniform() * 2 * YEAR)
  return [[begins, begins + 30 + Math.floor(random.exponential(20 * YEAR))]]
}

export function isLive({ days }: GeneratedRoute, day: number): boolean {
  return days.some(([from, to]) => from <= day && day < to)
}

export const CUTS = ['byte', 'tail', 'country', 'page'] as const

/** What is left of a list after an accident that takes about this share of it. */
export function cut(
  list: readonly GeneratedRoute[],
  kind: (typeof CUTS)[number],
  { share, random }: { readonly share: number; readonly random: Random },
): readonly GeneratedRoute[] {
  const kept = Math.floor(list.length * (1 - share))
  if (kind === 'byte') return list.slice(0, kept)
  // The order of another column: the end of it is spread over the ids.
  if (kind === 'tail') {
    const order = new Map(list.map((route) => [route, random.uniform()]))
    const rank = (route: GeneratedRoute) => order.get(route) ?? 0
    return list.toSorted((a, b) => rank(a) - rank(b)).slice(0, kept)
  }
  if (kind === 'page') {
    const from = Math.floor(random.uniform() * kept)
    return [...list.slice(0, from), ...list.slice(from + list.length - kept)]
  }
  return withoutCountries(list, kept, random)
}

function withoutCountries(
  list: readonly GeneratedRoute[],
  kept: number,
  random: Random,
): readonly GeneratedRoute[] {
  const order = Array.from({ length: COUNTRIES }, (_, country) => ({
    country,
    at: random.uniform(),
  }))
  const gone = new Set<number>()
  let left = list
  for (const { country } of order.sort((a, b) => a.at - b.at)) {
    if (left.length <= kept) break
    gone.add(country)
    left = list.filter((route) => !gone.has(route.country))
  }
  return left
}
