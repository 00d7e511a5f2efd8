import { readFileSync } from 'node:fs'
import path from 'node:path'
import { createRandom, type Random } from '../../bench/schedule/random.ts'
import {
  type AcceptedDay,
  DEPARTURE_ROUTES,
  GUARD_LIMITS,
  HISTORY_DAYS,
  type SnapshotEffect,
  suspicionOf,
} from '../../src/routes/guard.ts'

/** The routes that begin and end on a day of a network, as 'PMI-MAD'. */
export interface NetworkDay {
  readonly day: number
  readonly added: readonly string[]
  readonly removed: readonly string[]
}

/** A network of directed airport pairs, day by day. */
export interface NetworkHistory {
  readonly base: readonly string[]
  readonly days: readonly NetworkDay[]
  /** The country of a departure. */
  countryOf(departure: string): string
}

const DAY_MS = 86_400_000
const departureOf = (pair: string) => pair.slice(0, pair.indexOf('-'))

/** Reads base.json, days.jsonl and airports.csv of a folder. */
export function readHistory(folder: string): NetworkHistory {
  const read = (name: string) => readFileSync(path.join(folder, name), 'utf8')
  type Pairs = readonly (readonly [string, string])[]
  const named = (pairs: Pairs) => pairs.map(([from, to]) => `${from}-${to}`)
  const countries = new Map(
    read('airports.csv')
      .split('\n')
      .map((line) => [line.split(',')[0] ?? '', line.split(',').at(-2) ?? '']),
  )
  const days = read('days.jsonl')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { date: string; added: Pairs; removed: Pairs })
    .map(({ date, added, removed }) => {
      return { day: Date.parse(date) / DAY_MS, added: named(added), removed: named(removed) }
    })
  const base = named(JSON.parse(read('base.json')) as Pairs)
  return { base, days, countryOf: (departure) => countries.get(departure) ?? '' }
}

const AIRPORTS = 700
const COUNTRIES = 60

/**
 * A network whose daily losses have the quantiles of a real one: median 0.008 %, 99 of 100 days at most 0.09 %, one day of 0.76 %.
 * Log-normal, because the ratios of its quantiles are those of a normal distribution of the logarithm.
 */
export function generateHistory(seed: number, days = 400): NetworkHistory {
  const random = createRandom(seed)
  const live = new Set<string>()
  while (live.size < 30_000) live.add(anyPair(random))
  const base = [...live]
  const changes = Array.from({ length: days }, (_, day): NetworkDay => {
    const share = day === 200 ? 0.0076 : 0.00008 * Math.exp(1.04 * random.normal())
    const order = [...live]
    const removed = Array.from({ length: Math.round(share * live.size) }, () => {
      const pair = order[Math.floor(random.uniform() * order.length)] ?? ''
      return live.delete(pair) ? pair : ''
    }).filter((pair) => pair !== '')
    const added = [...new Set(removed.map(() => anyPair(random)))].filter((pair) => {
      return !live.has(pair) && !removed.includes(pair)
    })
    for (const pair of added) live.add(pair)
    return { day: day + 1, added, removed }
  })
  return {
    base,
    days: [{ day: 0, added: [], removed: [] }, ...changes],
    countryOf: (departure) => `C${Number(departure.slice(1)) % COUNTRIES}`,
  }
}

/** Few airports have most of the routes. */
function anyPair(random: Random): string {
  const airport = () =>
    `A${String(Math.floor(random.uniform() ** 2.5 * AIRPORTS)).padStart(3, '0')}`
  const from = airport()
  for (;;) {
    const to = airport()
    if (to !== from) return `${from}-${to}`
  }
}

/** A route that accepted lists lack, and when the first of them arrived, in days. */
type Pending = Map<string, number>

/** The guard with the state of one kind of list, in memory; removals need two accepted lists. Instants are in days. */
export class GuardedList {
  readonly live = new Set<string>()
  readonly #departures = new Map<string, number>()
  readonly #pending: Pending = new Map()
  /** Removals of the last 24 hours: when they were confirmed, and when the first list lacked the route. */
  #removals: { readonly pair: string; readonly at: number; readonly missedAt: number }[] = []
  readonly #accepted: (AcceptedDay & { readonly day: number })[] = []
  #lastAt: number | null = null

  /** Whether the guard holds a list that lacks these live routes. */
  verdict(missing: ReadonlySet<string>, at: number): string | null {
    return suspicionOf(this.#effectOf(missing, at), GUARD_LIMITS)?.code ?? null
  }

  /** Accepts a list that lacks these live routes and adds others. */
  accept(
    { missing, added }: { missing: ReadonlySet<string>; added: readonly string[] },
    at: number,
  ): void {
    const before = this.live.size
    for (const pair of this.#pending.keys()) if (!missing.has(pair)) this.#pending.delete(pair)
    let removed = 0
    for (const pair of missing) {
      const missedAt = this.#pending.get(pair)
      if (missedAt === undefined) this.#pending.set(pair, at)
      else {
        removed += 1
        this.#pending.delete(pair)
        this.#remove(pair)
        this.#removals.push({ pair, at, missedAt })
      }
    }
    for (const pair of added) this.#add(pair)
    this.#recordDay(Math.floor(at), { live: before, removed })
    this.#removals = this.#removals.filter((removal) => removal.at > at - 1)
    this.#lastAt = at
  }

  #recordDay(day: number, { live, removed }: Pick<AcceptedDay, 'live' | 'removed'>): void {
    const last = this.#accepted.at(-1)
    if (last?.day === day) {
      this.#accepted[this.#accepted.length - 1] = { ...last, removed: last.removed + removed }
      return
    }
    this.#accepted.push({ day, days: last === undefined ? 1 : day - last.day, live, removed })
    if (this.#accepted.length > HISTORY_DAYS) this.#accepted.shift()
  }

  #add(pair: string): void {
    if (this.live.has(pair)) return
    this.live.add(pair)
    this.#count(departureOf(pair), 1)
  }

  #remove(pair: string): void {
    this.live.delete(pair)
    this.#count(departureOf(pair), -1)
  }

  #count(departure: string, routes: number): void {
    this.#departures.set(departure, (this.#departures.get(departure) ?? 0) + routes)
  }

  #effectOf(missing: ReadonlySet<string>, at: number): SnapshotEffect {
    const recent = [...missing].filter((pair) => (this.#pending.get(pair) ?? at) > at - 1)
    const gone = this.#removals.filter(({ pair }) => !this.live.has(pair))
    const lastDay = gone.filter((removal) => removal.at > at - 1)
    const byDeparture = Map.groupBy(missing, departureOf)
    const fresh = new Set(recent.map(departureOf))
    const emptied = [...byDeparture].filter(([departure, pairs]) => {
      if (pairs.length < DEPARTURE_ROUTES || !fresh.has(departure)) return false
      return this.#departures.get(departure) === pairs.length
    })
    return {
      baseline: this.#lastAt === null,
      repeated: false,
      listed: this.live.size - missing.size,
      live: this.live.size,
      added: 0,
      readded: 0,
      missing: missing.size,
      newlyAbsent: [...missing].filter((pair) => !this.#pending.has(pair)).length,
      absentLastDay: recent.length + lastDay.filter(({ missedAt }) => missedAt > at - 1).length,
      emptied: emptied.length,
      removed: [...missing].filter((pair) => this.#pending.has(pair)).length,
      removedLastDay: lastDay.length,
      knownPlaces: 0,
      newlyEdited: 0,
      renumbered: 0,
      history: { accepted: this.#accepted, daysSinceLast: at - (this.#lastAt ?? at) },
    }
  }
}

export const CUTS = ['tail', 'random', 'country'] as const
export const CUT_PERCENTS = [0.5, 1, 2, 5, 10] as const

/** How often cut lists were held, by '2 % random'. */
export interface ReplayReport {
  readonly lists: number
  /** Lists that were not cut and were held. */
  readonly falseHolds: { readonly day: number; readonly code: string }[]
  readonly years: number
  readonly cuts: Record<string, { held: number; of: number; lost: number }>
}

/** The limit is learned from the fifth weekly list on. */
const CUT_FROM_DAY = 36

/**
 * Syncs every list of a history, and asks before each what the guard would do if the list were cut. Cuts are judged from the
 * day on from which the limit is learned.
 */
export function replayGuard(
  history: NetworkHistory,
  {
    hours,
    seed,
    cutEvery = 1,
  }: { readonly hours: number; readonly seed: number; readonly cutEvery?: number },
): ReplayReport {
  const random = createRandom(seed)
  const list = new GuardedList()
  const truth = new Set(history.base)
  const first = history.days[0]?.day ?? 0
  const last = history.days.at(-1)?.day ?? 0
  const report: ReplayReport = {
    lists: 0,
    falseHolds: [],
    years: (last - first) / 365.25,
    cuts: {},
  }
  const byDay = new Map(history.days.map((day) => [day.day, day]))
  list.accept({ missing: new Set(), added: history.base }, first)
  let missing: ReadonlySet<string> = new Set()
  let done = first
  let lists = 1
  for (let at = first + hours / 24; at < last + 1; at += hours / 24) {
    const added: string[] = []
    const removed = [...missing]
    const isNewDay = Math.floor(at) > done
    for (; done < Math.floor(at); done++) {
      const day = byDay.get(done + 1)
      for (const pair of day?.removed ?? []) truth.delete(pair)
      for (const pair of day?.added ?? []) truth.add(pair)
      added.push(...(day?.added ?? []))
      removed.push(...(day?.removed ?? []))
    }
    missing = new Set(removed.filter((pair) => list.live.has(pair) && !truth.has(pair)))
    lists += 1
    if (isNewDay && at - first >= CUT_FROM_DAY && Math.floor(at) % cutEvery === 0) {
      cutAll({ report, list, truth, missing, history, random, at })
    }
    const code = list.verdict(missing, at)
    if (code !== null) report.falseHolds.push({ day: Math.floor(at - first), code })
    list.accept({ missing, added: added.filter((pair) => truth.has(pair)) }, at)
  }
  return { ...report, lists }
}

interface CutArgs {
  readonly report: ReplayReport
  readonly list: GuardedList
  readonly truth: ReadonlySet<string>
  readonly missing: ReadonlySet<string>
  readonly history: NetworkHistory
  readonly random: Random
  readonly at: number
}

function cutAll({ report, list, truth, missing, history, random, at }: CutArgs): void {
  const sorted = [...truth].sort((a, b) => (a < b ? -1 : 1))
  const countries = [
    ...Map.groupBy(sorted, (pair) => history.countryOf(departureOf(pair))).values(),
  ]
  for (const kind of CUTS) {
    for (const percent of CUT_PERCENTS) {
      const gone = cut(sorted, kind, { share: percent / 100, random, countries })
      const lost = gone.filter((pair) => list.live.has(pair))
      const held = list.verdict(new Set([...missing, ...lost]), at) !== null
      const key = `${kind} ${percent} %`
      const counted = report.cuts[key] ?? { held: 0, of: 0, lost: 0 }
      report.cuts[key] = counted
      counted.of += 1
      counted.held += held ? 1 : 0
      counted.lost += gone.length / sorted.length
    }
  }
}

/** The routes that an accident of this share takes from a list in order. Countries are taken whole, in random order, until it is reached. */
function cut(
  sorted: readonly string[],
  kind: (typeof CUTS)[number],
  {
    share,
    random,
    countries,
  }: { share: number; random: Random; countries: readonly (readonly string[])[] },
): readonly string[] {
  if (kind === 'tail') return sorted.slice(Math.floor(sorted.length * (1 - share)))
  if (kind === 'random') return sorted.filter(() => random.uniform() < share)
  const order = countries
    .map((pairs) => ({ pairs, rank: random.uniform() }))
    .sort((a, b) => a.rank - b.rank)
  const gone: string[] = []
  for (const { pairs } of order) {
    if (gone.length >= share * sorted.length) break
    gone.push(...pairs)
  }
  return gone
}

/** A table of the report. */
export function reportText(
  title: string,
  { lists, falseHolds, years, cuts }: ReplayReport,
): string {
  const rows = Object.entries(cuts).map(([key, { held, of, lost }]) => {
    const average = ((lost / of) * 100).toFixed(2)
    return `  ${key.padEnd(14)} held ${held} of ${of} (${((held / of) * 100).toFixed(1)} %), ${average} % of the list lost on average`
  })
  const holds = `${falseHolds.length} false holds, ${(falseHolds.length / years).toFixed(2)} a year`
  return [`${title}: ${lists} lists over ${years.toFixed(2)} years, ${holds}`, ...rows].join('\n')
}
