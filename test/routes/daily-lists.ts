import { readFileSync } from 'node:fs'
import path from 'node:path'
import { createRandom } from '../../bench/schedule/random.ts'
import type { Place } from '../../src/upstream/route-list.ts'

/** The list of one day: all pairs, as 'PMI-MAD'. */
export interface DailyList {
  /** As '2026-01-31'. */
  readonly date: string
  readonly pairs: ReadonlySet<string>
}

/** Daily lists, oldest first, and the places of their ids. */
export interface DailyLists {
  lists(): Iterable<DailyList>
  placeOf(id: string): Place
}

const DAY_MS = 86_400_000
const dateOf = (day: number) => new Date(day * DAY_MS).toISOString().slice(0, 10)

type Pairs = readonly (readonly [from: string, to: string])[]
const named = (pairs: Pairs) => pairs.map((pair) => pair.join('-'))

/**
 * Reads base.json, days.jsonl and airports.csv of a folder. A code is the id of its place; without a row in airports.csv it has no
 * attributes.
 */
export function readDailyLists(folder: string): DailyLists {
  const read = (name: string) => readFileSync(path.join(folder, name), 'utf8')
  const base = named(JSON.parse(read('base.json')) as Pairs)
  const days = read('days.jsonl')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { date: string; added: Pairs; removed: Pairs })
  const attributes = new Map(
    read('airports.csv')
      .split('\n')
      .map((line) => [
        line.split(',')[0] ?? '',
        { iata: line.split(',')[1], country: line.split(',').at(-2) },
      ]),
  )
  return {
    *lists() {
      const pairs = new Set(base)
      for (const { date, added, removed } of days) {
        for (const pair of named(removed)) pairs.delete(pair)
        for (const pair of named(added)) pairs.add(pair)
        yield { date, pairs: new Set(pairs) }
      }
    },
    placeOf: (id) => {
      const { iata = '', country = '' } = attributes.get(id) ?? {}
      return { id, iata, city: '', country }
    },
  }
}

const PLACES = 40
const ROUTES = 300
/** 2025-10-25. */
const FIRST_DAY = 20_386
/** From this day on the place 3 has the id 103. */
const RENUMBERED_ON = 20

/** Daily lists over forty days of three months: a route or two begin and end on each, some return, and one place comes under another id. */
export function generateDailyLists(seed: number): DailyLists {
  return {
    *lists() {
      const random = createRandom(seed)
      const one = (count: number) => Math.floor(random.uniform() * count)
      const anyPair = () => `${one(PLACES)}-${one(PLACES)}`
      const pairs = new Set<string>()
      while (pairs.size < ROUTES) pairs.add(anyPair())
      const gone: string[] = []
      for (let day = 0; day < 40; day++) {
        for (let n = one(3); n > 0; n--) {
          const pair = [...pairs][one(pairs.size)] ?? ''
          pairs.delete(pair)
          gone.push(pair)
        }
        for (let n = one(3); n > 0; n--)
          pairs.add(one(2) === 0 ? anyPair() : (gone[one(gone.length)] ?? anyPair()))
        const listed =
          day < RENUMBERED_ON ? pairs : [...pairs].map((pair) => pair.replace(/\b3\b/g, '103'))
        yield { date: dateOf(FIRST_DAY + day), pairs: new Set(listed) }
      }
    },
    placeOf: (id) => {
      const number = Number(id) % 100
      return { id, iata: `C${number}`, city: `City ${number}`, country: `Country ${number % 7}` }
    },
  }
}

/** An interval of a route, by the days of the lists that began and ended it. */
export interface Interval {
  readonly from: string
  to: string | null
}

/** What must be answered about daily lists, computed from them alone. Two lists in a row remove what they lack. */
export interface Expected {
  /** The days of the lists, in order. */
  readonly days: string[]
  /** The intervals of each pair. */
  readonly history: Map<string, Interval[]>
  /** Live pairs after the last list of each month. */
  readonly live: Map<string, number>
  /** By month and country of departure, as '2026-01 Spain': how many pairs began and ended, those of the first list excluded. */
  readonly churn: Map<string, { added: number; removed: number }>
}

/** @param sameAs pairs under other ids that count as one, by the first one. */
export function expectedOf(
  { lists, placeOf }: DailyLists,
  sameAs: (pair: string) => string = (pair) => pair,
): Expected {
  const expected: Expected = { days: [], history: new Map(), live: new Map(), churn: new Map() }
  const { days, history, live, churn } = expected
  const count = (date: string, pair: string, kind: 'added' | 'removed') => {
    const key = `${date.slice(0, 7)} ${placeOf(pair.split('-')[0] ?? '').country}`
    const counted = churn.get(key) ?? { added: 0, removed: 0 }
    counted[kind] += 1
    churn.set(key, counted)
  }
  let before: ReadonlySet<string> = new Set()
  let held: ReadonlySet<string> = new Set()
  for (const list of lists()) {
    const { date } = list
    const pairs = new Set([...list.pairs].map(sameAs))
    // A route is live while one of the last two lists has it.
    const now = new Set([...pairs, ...before])
    for (const pair of now) {
      if (held.has(pair)) continue
      const intervals = history.get(pair) ?? []
      history.set(pair, [...intervals, { from: date, to: null }])
      if (days.length > 0) count(date, pair, 'added')
    }
    for (const pair of held) {
      if (now.has(pair)) continue
      const last = history.get(pair)?.at(-1)
      if (last !== undefined) last.to = date
      count(date, pair, 'removed')
    }
    live.set(date.slice(0, 7), now.size)
    days.push(date)
    before = pairs
    held = now
  }
  return expected
}
