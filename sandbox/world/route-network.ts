import type { Airport } from './airports.ts'
import type { Episode } from './episodes.ts'
import { distanceKm } from './geography.ts'
import { draw, drawInteger, drawNormal, mix } from './random.ts'
import type { Route, RoutePlace } from './wire.ts'

/** A directed pair of airports that is flown at some time; route-life.ts says when. */
export interface Pair {
  readonly from: Airport
  readonly to: Airport
  readonly distanceKm: number
  /** The word for the draws of this pair. */
  readonly word: number
  readonly pattern: RoutePattern
  /** Where passengers change planes; most pairs are non-stop. */
  readonly via: Airport | undefined
  readonly flightsPerDay: number
  /** When a demonstration closes it. */
  readonly closed?: Episode
  /** As the lists show it. */
  readonly route: Route
}

type RoutePattern =
  | { readonly kind: 'all-year' }
  | { readonly kind: 'seasonal' }
  /** The charters open and close in the order of their indexes; see route-life.ts. */
  | { readonly kind: 'charter'; readonly index: number }

/** All pairs; about 85 % of them are live at any instant. */
const PAIR_COUNT = 3600
/** The pairs with the weakest attraction are charters. */
export const CHARTER_COUNT = 240
const SEASONAL_SHARE = 0.12
const TOO_NEAR_KM = 150

interface Attraction {
  readonly from: Airport
  readonly to: Airport
  readonly km: number
  readonly score: number
}

/** The pairs with the strongest attraction, by departure id, then destination id. */
export function buildPairs(seed: number, airports: readonly Airport[]): Pair[] {
  const all = airports.map((from) => attractionsOf(seed, from, airports))
  const least = leastDestinations(all)
  // The rest of the pairs needs no order: to sort all hundred thousand would take most of the time.
  const rest = strongest(above(all.flat(), PAIR_COUNT))
  const best = [...new Set([...least, ...rest])].slice(0, PAIR_COUNT)
  const charters = best.slice(-CHARTER_COUNT)
  const indexes = new Map(charters.map((attraction, index) => [attraction, index]))
  const hubs = airports.filter((airport) => airport.size === 5)
  return best
    .map((attraction) => toPair(seed, attraction, { charter: indexes.get(attraction), hubs }))
    .sort((a, b) => a.from.id - b.from.id || a.to.id - b.to.id)
}

function attractionsOf(seed: number, from: Airport, airports: readonly Airport[]): Attraction[] {
  return airports
    .filter((to) => to !== from)
    .map((to) => {
      const km = distanceKm(from, to)
      return { from, to, km, score: attraction(seed, from, to) - reluctance(from, to, km) }
    })
}

/** Large airports and the same country attract. Most of the random part is the same in both directions. */
function attraction(seed: number, from: Airport, to: Airport): number {
  const [low, high] = from.id < to.id ? [from, to] : [to, from]
  const both = drawNormal(mix(mix(seed, 11), low.id), high.id)
  const own = drawNormal(mix(mix(seed, 12), from.id), to.id)
  const domestic = from.country === to.country ? 1.2 : 0
  return from.size + to.size + domestic + 0.8 * both + 0.15 * own
}

/** Rises steeply with the distance within a continent and slowly beyond, and faster from small airports. */
function reluctance(from: Airport, to: Airport, km: number): number {
  if (km < TOO_NEAR_KM) return 4
  const smallness = 1 + 0.3 * (5 - Math.min(from.size, to.size))
  return smallness * (km < 3000 ? km / 2000 : 1.5 + (km - 3000) / 4000)
}

function strongest(all: readonly Attraction[]): Attraction[] {
  return all.toSorted((a, b) => b.score - a.score || a.from.id - b.from.id || a.to.id - b.to.id)
}

/** The best destinations of every airport, in both directions: one more than its size. */
function leastDestinations(all: readonly (readonly Attraction[])[]): Attraction[] {
  const outbound = new Map(all.map((own) => [own[0]?.from, own]))
  return all.flatMap((own) =>
    strongest(own)
      .slice(0, 1 + (own[0]?.from.size ?? 0))
      .flatMap((one) => [one, outbound.get(one.to)?.find(({ to }) => to === one.from) ?? one]),
  )
}

/** The attractions with the `count` highest scores, and those equal to the last of them. */
function above(all: readonly Attraction[], count: number): Attraction[] {
  const least =
    Float64Array.from(all, ({ score }) => score)
      .sort()
      .at(-count) ?? -Infinity
  return all.filter(({ score }) => score >= least)
}

interface PairOptions {
  /** Undefined for a pair that is not a charter. */
  readonly charter: number | undefined
  readonly hubs: readonly Airport[]
}

function toPair(seed: number, { from, to, km }: Attraction, { charter, hubs }: PairOptions): Pair {
  const word = mix(mix(mix(seed, 1), from.id), to.id)
  const most = Math.max(1, from.size + to.size - 6)
  return {
    from,
    to,
    distanceKm: km,
    word,
    pattern: patternOf(word, charter),
    via: km > 5000 && draw(word, 2) < 0.6 ? bestHub(from, to, hubs) : undefined,
    flightsPerDay: 1 + drawInteger(word, 3, most),
    route: { departure: toPlace(from), destination: toPlace(to) },
  }
}

function patternOf(word: number, charter: number | undefined): RoutePattern {
  if (charter !== undefined) return { kind: 'charter', index: charter }
  return { kind: draw(word, 4) < SEASONAL_SHARE ? 'seasonal' : 'all-year' }
}

/** The hub with the smallest detour, at least 500 km from both ends. */
function bestHub(from: Airport, to: Airport, hubs: readonly Airport[]): Airport | undefined {
  let best: { hub: Airport; km: number } | undefined
  for (const hub of hubs) {
    const [first, second] = [distanceKm(from, hub), distanceKm(hub, to)]
    if (Math.min(first, second) < 500) continue
    if (!best || first + second < best.km) best = { hub, km: first + second }
  }
  return best?.hub
}

function toPlace({ id, iata, city, country }: Airport): RoutePlace {
  return { id: String(id), iata, city, country }
}
