import {
  type CellProcess,
  DAY_MS,
  type Episode,
  edgesOf,
  episodesOf,
  HOUR_MS,
  type Transition,
  touches,
  transitionsOf,
  type Window,
} from './episodes.ts'
import { draw, drawInteger, mix } from './random.ts'
import { CHARTER_COUNT, type Pair } from './route-network.ts'
import type { Route } from './wire.ts'
import { findPair, type World } from './world.ts'

/** Streams of draws from a pair's word. route-network.ts uses 1 to 9, flight-schedule.ts 41 and 42. */
const SEASON = 21
const CHARTER = 22
const SUSPENSION = 23
const UNAVAILABILITY = 24

const YEAR_MS = 364 * DAY_MS
/** Each hour one charter opens or closes, so that a world at speed 60 changes every minute. */
const CHARTER_STEP_MS = HOUR_MS
const CHARTER_JITTER_MS = HOUR_MS / 4

export interface RouteState {
  readonly live: boolean
  /** False for a route that is not live. */
  readonly available: boolean
}

/** The routes that are live at that instant, by departure id, then destination id. Takes about 2 ms. */
export function routesAt(world: World, instant: Date): Route[] {
  const now = at(instant)
  return world.pairs.filter((pair) => isLive(pair, now)).map((pair) => pair.route)
}

/** The live routes on which a fare can be bought, about 85 %, in the same order. */
export function routesWithAvailabilityAt(world: World, instant: Date): Route[] {
  const now = at(instant)
  return world.pairs.filter((pair) => isBookable(pair, now)).map((pair) => pair.route)
}

/** The changes of a route after `from` and up to `to`. None for a pair that is never flown. */
export function routeHistory(
  world: World,
  { departureId, destinationId }: { departureId: string; destinationId: string },
  { from, to }: { from: Date; to: Date },
): Transition<RouteState>[] {
  const pair = findPair(world, departureId, destinationId)
  if (!pair) return []
  const window = { from: from.getTime(), to: to.getTime() }
  return transitionsOf({
    window,
    moments: edgesOf([...closures(pair, window), ...unavailabilities(pair, window)]),
    stateAt: (instant) => routeStateAt(pair, instant),
    same: (a, b) => a.live === b.live && a.available === b.available,
  })
}

export function routeStateAt(pair: Pair, instant: number): RouteState {
  const moment = { from: instant, to: instant }
  return { live: isLive(pair, moment), available: isBookable(pair, moment) }
}

/** When nothing can be bought: the pair is closed, or open without a fare. */
export function unbookables(pair: Pair, window: Window): Episode[] {
  return [...closures(pair, window), ...unavailabilities(pair, window)]
}

export function isBookable(pair: Pair, moment: Window): boolean {
  return isLive(pair, moment) && unavailabilities(pair, moment).length === 0
}

function isLive(pair: Pair, moment: Window): boolean {
  return closures(pair, moment).length === 0
}

function closures(pair: Pair, window: Window): Episode[] {
  switch (pair.pattern.kind) {
    case 'charter':
      return charterPauses(pair, pair.pattern.index, window)
    case 'seasonal':
      return [...outOfSeason(pair, window), ...suspensions(pair, window)]
    case 'all-year':
      return [...suspensions(pair, window), ...staged(pair, window)]
  }
}

function staged({ closed }: Pair, window: Window): Episode[] {
  return closed !== undefined && touches(closed, window) ? [closed] : []
}

/** The season lasts 120 to 240 days, from the same day of every year. */
function outOfSeason(pair: Pair, window: Window): Episode[] {
  const word = mix(pair.word, SEASON)
  const opensMs = drawInteger(word, 1, 364) * DAY_MS + drawInteger(word, 2, 24) * HOUR_MS
  const seasonMs = (120 + drawInteger(word, 3, 121)) * DAY_MS
  const found: Episode[] = []
  const last = Math.floor((window.to - opensMs) / YEAR_MS)
  for (let year = Math.floor((window.from - opensMs) / YEAR_MS); year <= last; year++) {
    const opens = opensMs + year * YEAR_MS
    const closed = { start: opens + seasonMs, end: opens + YEAR_MS }
    if (touches(closed, window)) found.push(closed)
  }
  return found
}

/**
 * Hour by hour the next charter in turn opens or closes. Each is open for ten days and closed for ten. Independent
 * draws would leave hours without any change.
 */
function charterPauses(pair: Pair, index: number, window: Window): Episode[] {
  const roundMs = CHARTER_COUNT * CHARTER_STEP_MS
  const word = mix(pair.word, CHARTER)
  const toggle = (round: number) =>
    round * roundMs + index * CHARTER_STEP_MS + Math.floor(draw(word, round) * CHARTER_JITTER_MS)
  const found: Episode[] = []
  const last = Math.floor(window.to / roundMs)
  for (let round = Math.floor(window.from / roundMs) - 2; round <= last; round++) {
    // Neighbours are out of phase, so that openings and closings alternate.
    if ((round + index) % 2 !== 0) continue
    const pause = { start: toggle(round), end: toggle(round + 1) }
    if (touches(pause, window)) found.push(pause)
  }
  return found
}

/** Sometimes a route pauses, for three to thirty days. */
function suspensions(pair: Pair, window: Window): Episode[] {
  return episodesOf(processOf(pair, SUSPENSION, SUSPENSIONS), window)
}

/** A pair is available for about six weeks, then unavailable for about a week. */
function unavailabilities(pair: Pair, window: Window): Episode[] {
  return episodesOf(processOf(pair, UNAVAILABILITY, UNAVAILABILITIES), window)
}

const SUSPENSIONS: Omit<CellProcess, 'word'> = {
  cellMs: 90 * DAY_MS,
  chance: 0.03,
  longestMs: 30 * DAY_MS,
  lengthMs: (u) => (3 + 27 * u) * DAY_MS,
}

const UNAVAILABILITIES: Omit<CellProcess, 'word'> = {
  cellMs: 28 * DAY_MS,
  chance: 0.6,
  longestMs: 28 * DAY_MS,
  lengthMs: (u) => Math.max(0.5, -7 * Math.log(1 - u)) * DAY_MS,
}

function processOf(pair: Pair, stream: number, process: Omit<CellProcess, 'word'>): CellProcess {
  return { ...process, word: mix(pair.word, stream) }
}

function at(instant: Date): Window {
  return { from: instant.getTime(), to: instant.getTime() }
}
