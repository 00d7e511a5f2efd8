import { draw, mix } from './random.ts'

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** World time from start to before end, in milliseconds since 1970. */
export interface Episode {
  readonly start: number
  readonly end: number
}

/** World time with both ends included. One instant is a window with two equal ends. */
export interface Window {
  readonly from: number
  readonly to: number
}

/**
 * How the world changes without stored state.
 *
 * Everything that alternates (a route, its availability, the seats of a flight) is *off* while one of its episodes
 * covers the instant. Time is divided into cells. Each cell begins at most one episode; a hash of the cell's number
 * decides when and for how long. The episodes of a window come from its cells and from the earlier cells whose
 * episodes can reach into it. The state at an instant and the history of a window use the same episodes, so they
 * always agree.
 */
export interface CellProcess {
  /** The word for its draws. */
  readonly word: number
  readonly cellMs: number
  /** The probability that a cell begins an episode. */
  readonly chance: number
  /** The maximum length of an episode. */
  readonly longestMs: number
  /** The length of an episode for a draw in [0, 1); cut at `longestMs`. */
  readonly lengthMs: (draw: number) => number
}

/** The episodes that touch the window, in the order of their cells. */
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

/** One change of a true history. */
export interface Transition<State> {
  readonly at: Date
  readonly before: State
  readonly after: State
}

interface HistoryArgs<State> {
  readonly window: Window
  /** Every instant at which the state may change. */
  readonly moments: readonly number[]
  readonly stateAt: (instant: number) => State
  readonly same: (a: State, b: State) => boolean
}

/** The changes of state after `from`, up to and including `to`, in order. */
export function transitionsOf<State>({
  window,
  moments,
  stateAt,
  same,
}: HistoryArgs<State>): Transition<State>[] {
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
