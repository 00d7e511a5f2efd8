import { expect } from 'vitest'
import {
  instantOf,
  type PricedDay,
  type Route,
  sampleNetwork,
} from '../../docs/source/sample-network.ts'
import { workedQuestions } from '../../docs/source/worked-questions.ts'
import { firstsOfMonths, writeSample } from '../../docs/source/write-sample.ts'
import { runAnalystQuery } from '../support/analyst-query.ts'
import { it } from '../support/test-database.ts'

const NETWORK = sampleNetwork(7)
const FIRSTS = firstsOfMonths(NETWORK)
const LAST = NETWORK.days - 1
const COUNTRY_OF = new Map(NETWORK.places.map(({ iata, country }) => [iata, country]))
const WEEK = 7

/** A cell as the query writes it; numbers with the digits that the query rounds to. */
type Cell = string | number | null

function dayOf(date: string): number {
  return Math.floor((Date.parse(`${date}T23:59:59Z`) - instantOf(0)) / 86_400_000)
}

function isFlown({ intervals }: Route, day: number): boolean {
  return intervals.some(([from, to]) => from <= day && (to === null || day < to))
}

function liveOn(day: number): Route[] {
  return NETWORK.routes.filter((route) => isFlown(route, day))
}

function countBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, number> {
  return new Map([...Map.groupBy(items, keyOf)].map(([key, group]) => [key, group.length]))
}

function countryOf(iata: string): string {
  return COUNTRY_OF.get(iata) ?? ''
}

function hubs(): Cell[][] {
  return FIRSTS.map((date) => {
    const degrees = [...countBy(liveOn(dayOf(date)), ({ from }) => from).values()]
    const total = degrees.reduce((sum, n) => sum + n, 0)
    const ten = degrees.sort((a, b) => b - a).slice(0, 10)
    return [
      date.slice(0, 7),
      degrees.length,
      (ten.reduce((sum, n) => sum + n, 0) / total) * 100,
      degrees.reduce((sum, n) => sum + (n / total) ** 2, 0),
    ]
  })
}

function countryPairs(): Cell[][] {
  const pairOf = ({ from, to }: Route) => `${countryOf(from)} → ${countryOf(to)}`
  const now = countBy(liveOn(dayOf(FIRSTS.at(-1) ?? '')), pairOf)
  const before = countBy(liveOn(dayOf(FIRSTS.at(-13) ?? '')), pairOf)
  return [...new Set([...now.keys(), ...before.keys()])]
    .map((pair) => ({ pair, old: before.get(pair) ?? 0, live: now.get(pair) ?? 0 }))
    .filter(({ old, live }) => old !== live)
    .sort(
      (a, b) => Math.abs(b.live - b.old) - Math.abs(a.live - a.old) || (a.pair < b.pair ? -1 : 1),
    )
    .slice(0, 10)
    .map(({ pair, old, live }) => [
      pair,
      old,
      live,
      live - old,
      old === 0 ? null : ((live - old) / old) * 100,
    ])
}

function oneWay(): Cell[][] {
  const live = liveOn(LAST)
  const pairs = new Set(live.map(({ from, to }) => `${from}-${to}`))
  return [...Map.groupBy(live, ({ from }) => countryOf(from))]
    .map(([country, routes]): Cell[] => {
      const alone = routes.filter(({ from, to }) => !pairs.has(`${to}-${from}`)).length
      return [country, routes.length, alone, (alone / routes.length) * 100]
    })
    .sort(
      (a, b) =>
        Number(Number(b[3]).toFixed(1)) - Number(Number(a[3]).toFixed(1)) ||
        (String(a[0]) < String(b[0]) ? -1 : 1),
    )
}

function seasons(): Cell[][] {
  return [...new Set(COUNTRY_OF.values())]
    .sort((a, b) => (a < b ? -1 : 1))
    .flatMap((country) => {
      const live = FIRSTS.slice(-24).map((date) => ({
        month: Number(date.slice(5, 7)),
        count: liveOn(dayOf(date)).filter(({ from }) => countryOf(from) === country).length,
      }))
      const average = live.reduce((sum, { count }) => sum + count, 0) / 12
      if (average < 20) return []
      return [...Map.groupBy(live, ({ month }) => month)]
        .sort(([a], [b]) => a - b)
        .map(([month, two]): Cell[] => [
          country,
          month,
          (two.reduce((sum, { count }) => sum + count, 0) / average) * 100,
        ])
    })
}

function survival(): Cell[][] {
  const lives = NETWORK.routes.flatMap(({ intervals }) => {
    const [[from, to] = [0, null]] = intervals
    return from === 0
      ? []
      : [{ weeks: Math.floor(((to ?? LAST) - from) / WEEK), ended: to !== null }]
  })
  let alive = 1
  return [...new Set(lives.map(({ weeks }) => weeks))]
    .sort((a, b) => a - b)
    .map((week) => {
      const atRisk = lives.filter(({ weeks }) => weeks >= week).length
      const ended = lives.filter((life) => life.weeks === week && life.ended).length
      alive *= 1 - ended / atRisk
      return [week, atRisk, ended, alive * 100]
    })
}

/** Day by day: the runs of days on which no route left from a place, after its first one. */
function cutOff(): Cell[][] {
  const gaps = NETWORK.places
    .filter(({ country }) => country === 'Spain')
    .flatMap(({ iata, city }) => {
      const from = NETWORK.routes.filter((route) => route.from === iata)
      const flown = Array.from({ length: LAST }, (_, day) => from.some((r) => isFlown(r, day)))
      return flown.flatMap((served, day): Cell[][] => {
        const began = !served && day > flown.indexOf(true) && flown[day - 1] === true
        if (!began) return []
        const back = flown.indexOf(true, day)
        const ends = back === -1 ? null : instant(back)
        return [[iata, city, instant(day), ends, `${(back === -1 ? LAST : back) - day} days`]]
      })
    })
  return gaps.sort((a, b) => `${a[2]}${a[0]}`.localeCompare(`${b[2]}${b[0]}`))
}

function instant(day: number): string {
  return new Date(instantOf(day)).toISOString().replace('T', ' ').replace('.000Z', '+00')
}

function prices(): Cell[][] {
  const latest = dayOf(FIRSTS.at(-1) ?? '')
  const read = NETWORK.prices.filter(({ day }) => day > latest - 365)
  const averages = new Map(
    [...Map.groupBy(read, ({ from, to }) => `${from}-${to}`)].map(([route, days]) => [
      route,
      days.reduce((sum, { median }) => sum + median, 0) / days.length,
    ]),
  )
  const index = ({ from, to, median }: PricedDay) =>
    (100 * median) / (averages.get(`${from}-${to}`) ?? 0)
  return [...Map.groupBy(read, ({ daysToDeparture }) => daysToDeparture)]
    .sort(([a], [b]) => a - b)
    .map(([days, group]) => [
      days,
      group.length,
      group.reduce((sum, day) => sum + index(day), 0) / group.length,
      (group.reduce((sum, { bookable, fares }) => sum + bookable / fares, 0) / group.length) * 100,
    ])
}

const ANSWERS: Readonly<Record<string, () => Cell[][]>> = {
  'country-pairs-year-on-year': countryPairs,
  'hub-concentration': hubs,
  'one-way-routes': oneWay,
  'places-cut-off': cutOff,
  'price-by-days-to-departure': prices,
  seasonality: seasons,
  'survival-of-new-routes': survival,
}

/** Whether a cell of the query is the expected one, to half of its last digit. */
function isEqual(actual: string | null, expected: Cell | undefined): boolean {
  if (actual === null || typeof expected !== 'number') return actual === expected
  const digits = actual.split('.')[1]?.length ?? 0
  return Math.abs(Number(actual) - expected) <= 0.500001 * 10 ** -digits
}

it('each worked question has the answer that a computation without SQL has', async ({
  database,
}) => {
  await writeSample(database.db, NETWORK)
  expect(workedQuestions().map(({ name }) => name)).toEqual(Object.keys(ANSWERS))

  for (const { name, statement } of workedQuestions()) {
    const now = `timestamptz '${new Date(instantOf(LAST)).toISOString()}'`
    const { rows } = await runAnalystQuery(database, statement.replaceAll('now()', now))
    const expected = ANSWERS[name]?.() ?? []

    expect(rows.length, name).toBeGreaterThan(3)
    expect(rows.length, name).toBe(expected.length)
    const different = rows.flatMap((row, i) =>
      row.every((cell, at) => isEqual(cell, expected[i]?.[at])) ? [] : [[row, expected[i]]],
    )
    expect(different, name).toEqual([])
  }
})
