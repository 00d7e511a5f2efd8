import { type Airport, readAirports } from '../../sandbox/world/airports.ts'
import { createRandom, type Random } from '../schedule/random.ts'

const MINUTE_MS = 60_000
export const DAY_MS = 86_400_000

/** What is true of a flight from an instant on. */
export interface Phase {
  readonly fromMs: number
  readonly isForSale: boolean
  /** Price of an adult; while the flight is sold out, the last one. */
  readonly cents: number
  /** How many minutes and days it departs after the time at which it was first planned. */
  readonly minutes: number
  readonly days: number
}

export interface Airline {
  readonly id: number
  readonly name: string
  readonly code: string
  /** Its outbound flights. */
  readonly size: number
}

export interface Flight {
  readonly id: string
  readonly airline: Airline
  /** From, perhaps a stop, to. */
  readonly places: readonly Airport[]
  readonly number: number
  /** The first planned departure in local time, as if that were UTC. */
  readonly departsMs: number
  /** Minutes in the air of each segment. */
  readonly airMinutes: readonly number[]
  readonly phases: Phase[]
}

/** Counts of passengers: adults, children. */
export type Passengers = readonly [adults: number, children: number]

export interface Fare {
  readonly number: number
  /** The outbound flight, and perhaps a return flight. */
  readonly legs: readonly [Flight, Flight?]
  readonly passengers: Passengers
}

export interface Market {
  readonly startMs: number
  readonly endMs: number
  readonly fares: readonly Fare[]
}

interface MarketArgs {
  readonly seed: number
  readonly fares: number
  readonly startMs: number
  readonly endMs: number
}

/** Airlines that lies and masses are about, one of each size. The sizes of the others are random. */
const SIZES = [400, 120, 60, 30]
const SMALLEST = 8
/** The largest part of all fares that one airline has. */
const MOST = 0.2
const PAIRS = 0.2
const CONNECTING = 0.25
/** Fares about a flight of another fare, for other passengers. */
const SHARED = 0.1
const MIXES: readonly (readonly [share: number, Passengers])[] = [
  [0.7, [1, 0]],
  [0.15, [2, 0]],
  [0.1, [3, 0]],
  [0.05, [2, 1]],
]
/** Dates of one flight number in the largest airline. */
const DATES = 40

/**
 * A market from a seed: the same on every machine. About one thing changes a fare and day: an available flight is sold
 * out (35 %), changes its price (50 %: half of these within a tenth, a third within a half), its times (10 %) or its
 * date (5 %); one that is sold out reopens. So three flights in four are available.
 */
export function createMarket({ seed, fares: count, startMs, endMs }: MarketArgs): Market {
  const random = createRandom(seed)
  const sizes = sizesOf(count, random)
  const make = flightMaker({ random, startMs, endMs })
  const fares: Fare[] = []
  for (const [i, size] of sizes.entries()) {
    for (const flight of make.outbound(airlineOf(i, size))) {
      const back = random.uniform() < PAIRS ? make.back(flight) : undefined
      const add = (legs: Fare['legs'], passengers: Passengers) =>
        fares.push({ number: fares.length, legs, passengers })
      const passengers = passengersOf(random)
      add(back === undefined ? [flight] : [flight, back], passengers)
      if (random.uniform() < SHARED) add([flight], passengers[0] === 1 ? [3, 0] : [1, 0])
    }
  }
  return { startMs, endMs, fares }
}

function sizesOf(count: number, random: Random): number[] {
  const sizes = SIZES.filter((size) => size <= MOST * count)
  const isFull = () => sizes.reduce((sum, size) => sum + size, 0) * (1 + SHARED) >= count
  while (!isFull()) {
    const most = Math.min(400, MOST * count)
    const size = Math.round(SMALLEST * (most / SMALLEST) ** random.uniform())
    sizes.push(SIZES.includes(size) ? size - 1 : size)
  }
  return sizes.toSorted((a, b) => b - a)
}

function airlineOf(i: number, size: number): Airline {
  const letter = (n: number) => String.fromCharCode('A'.charCodeAt(0) + (n % 26))
  return { id: 1 + i, name: `Airline ${1 + i}`, code: `${letter(i / 26)}${letter(i)}`, size }
}

function passengersOf(random: Random): Passengers {
  let left = random.uniform()
  for (const [share, passengers] of MIXES) {
    if (left < share) return passengers
    left -= share
  }
  return [1, 0]
}

interface MakerArgs extends Pick<MarketArgs, 'startMs' | 'endMs'> {
  readonly random: Random
}

function flightMaker({ random, startMs, endMs }: MakerArgs) {
  const airports = readAirports()
  let ids = 100_000
  const below = (n: number) => Math.floor(random.uniform() * n)
  const place = () => airports[below(airports.length)] as Airport
  const departure = () =>
    startMs + (30 + below(170)) * DAY_MS + (6 * 60 + 5 * below(180)) * MINUTE_MS
  const flight = (parts: Omit<Flight, 'id' | 'phases'>): Flight => {
    ids += 1
    return { ...parts, id: String(ids), phases: lifeOf(random, { startMs, endMs }) }
  }
  const other = (places: readonly Airport[]): Airport => {
    const found = place()
    return places.includes(found) ? other(places) : found
  }
  const route = () => {
    const places = [place()]
    while (places.length < (random.uniform() < CONNECTING ? 3 : 2)) places.push(other(places))
    return places
  }
  const air = (places: readonly Airport[]) => places.slice(1).map(() => 60 + 5 * below(60))
  return {
    /** Flight numbers on one to six dates each; the first number of a large airline on forty. */
    outbound: (airline: Airline): Flight[] => {
      const { size } = airline
      const flights: Flight[] = []
      for (let number = 101; flights.length < size; number += 1) {
        const places = route()
        const parts = { airline, places, number, airMinutes: air(places) }
        const dates = size > 2 * DATES && number === 101 ? DATES : 1 + below(6)
        const firstMs = departure()
        for (let n = 0; n < dates && flights.length < size; n += 1) {
          flights.push(flight({ ...parts, departsMs: firstMs + n * DAY_MS }))
        }
      }
      return flights
    },
    back: ({ airline, places, number, airMinutes, departsMs }: Flight): Flight =>
      flight({
        airline,
        places: places.toReversed(),
        number: number + 5_000,
        airMinutes: airMinutes.toReversed(),
        departsMs: departsMs + 7 * DAY_MS,
      }),
  }
}

const CHANGES_PER_DAY = 0.9

function lifeOf(random: Random, { startMs, endMs }: Omit<MakerArgs, 'random'>): Phase[] {
  const isForSale = random.uniform() < 0.75
  const cents = 2_000 + Math.floor(30_000 * random.uniform())
  const phases: Phase[] = [{ fromMs: startMs, isForSale, cents, minutes: 0, days: 0 }]
  const wait = () => random.exponential(DAY_MS / CHANGES_PER_DAY)
  for (let fromMs = startMs + wait(); fromMs < endMs; fromMs += wait()) {
    phases.push({ ...next(phases.at(-1) as Phase, random), fromMs: Math.round(fromMs) })
  }
  return phases
}

function next(last: Phase, random: Random): Phase {
  const priced = (most: number) => {
    const part = 0.01 + (most - 0.01) * random.uniform()
    const factor = random.uniform() < 0.5 ? 1 + part : 1 / (1 + part)
    return Math.max(1_000, Math.round(last.cents * factor))
  }
  const kind = random.uniform()
  if (!last.isForSale) {
    return { ...last, isForSale: true, cents: kind < 0.5 ? last.cents : priced(0.3) }
  }
  if (kind < 0.35) return { ...last, isForSale: false }
  if (kind < 0.85) {
    const size = random.uniform()
    return { ...last, cents: priced(size < 0.5 ? 0.1 : size < 0.83 ? 0.5 : 1.2) }
  }
  if (kind < 0.95)
    return { ...last, minutes: last.minutes === 0 ? 5 + 5 * Math.floor(20 * kind) : 0 }
  return { ...last, days: last.days === 0 ? 1 : 0 }
}

function phaseAt({ phases }: Flight, atMs: number): Phase {
  return phases.findLast(({ fromMs }) => fromMs <= atMs) ?? (phases[0] as Phase)
}

/** What is true of each leg of a fare. */
export function phasesAt({ legs }: Fare, atMs: number): Phase[] {
  return legs.flatMap((flight) => (flight === undefined ? [] : [phaseAt(flight, atMs)]))
}
