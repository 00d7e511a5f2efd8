import { draw, mix } from './random.ts'

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** A stretch of world time [start, end), in milliseconds since 1970. */
export interface Episode {
  readonly start: number
  readonly end: number
}

/** A stretch that is asked about, both ends included. One instant is a window with two equal ends. */
export interface Window {
  readonly from: number
  readonly to: number
}

/**
 * How the world changes without a state.
 *
 * Everything that alternates (a route, its availability, a flight's seats) is *off* while at least one of its
 * episodes covers the instant. Time is cut into cells; each cell begins at most one episode, whose beginning
 * and length are drawn by hash from the cell's number. Whoever asks for a window looks at the cells of the
 * window and at those before it from which an episode can still reach in, and never at the rest of time. The
 * state at an instant and the history of a stretch come from the same episodes, so they cannot disagree.
 */
export interface CellProcess {
  /** The word from which this process draws. */
  readonly word: number
  readonly cellMs: number
  /** Probability that a cell begins an episode. */
  readonly chance: number
  /** No episode is longer; the cells this far before a window are looked at too. */
  readonly longestMs: number
  /** The episode's length for a draw in [0, 1); cut at `longestMs`. */
  readonly lengthMs: (draw: number) => number
}

/** The episodes of a process that touch the window, in the order of their beginnings. */
export function episodesOf(process: CellProcess, { from, to }: Window): Episode[] {
  const first = Math.floor((from - process.longestMs) / process.cellMs)
  const last = Math.floor(to / process.cellMs)
  const found: Episode[] = []
  for (let cell = first; cell <= last; cell++) {
    const word = mix(process.word, cell)
    if (draw(word, 0) >= process.chance) continue
    const start = Math.round((cell + draw(word, 1)) * process.cellMs)
    const length = Math.min(process.longestMs, process.lengthMs(draw(word, 2)))
    const episode = { start, end: start + Math.round(length) }
    if (touches(episode, { from, to })) found.push(episode)
  }
  return found
}

export function touches(episode: Episode, { from, to }: Window): boolean {
  return episode.start <= to && episode.end > from
}

/** A step of a true history. */
export interface Transition<State> {
  readonly at: Date
  readonly before: State
  readonly after: State
}

export interface HistoryQuestion<State> {
  readonly window: Window
  /** Every instant at which the state may change; others are never looked at. */
  readonly moments: readonly number[]
  readonly stateAt: (instant: number) => State
  readonly same: (a: State, b: State) => boolean
}

/** The transitions after `from`, up to and including `to`, in order; a moment that changes nothing is none. */
export function transitionsOf<State>(question: HistoryQuestion<State>): Transition<State>[] {
  const { window, moments, stateAt, same } = question
  const inside = [...new Set(moments)].filter((at) => at > window.from && at <= window.to)
  inside.sort((a, b) => a - b)
  const steps: Transition<State>[] = []
  let before = stateAt(window.from)
  for (const moment of inside) {
    const after = stateAt(moment)
    if (!same(before, after)) steps.push({ at: new Date(moment), before, after })
    before = after
  }
  return steps
}

export function edgesOf(episodes: readonly Episode[]): number[] {
  return episodes.flatMap(({ start, end }) => [start, end])
}
