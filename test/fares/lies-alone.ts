import type { FareChange } from '../../src/fares/answer.ts'
import { decide } from '../../src/fares/decide.ts'
import type { MassContext } from '../../src/fares/mass.ts'
import {
  type FareState,
  type FareView,
  initialState,
  legOf,
  viewOf,
} from '../../src/fares/state.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { answer, at, available, CALM, eur, RULES } from './answers.ts'

export type Legs = readonly [LegObservation, LegObservation?]

/** A change, and when it was recorded, in seconds after the start. */
export interface AloneRecord extends FareChange {
  readonly recordedAt: number
}

/** A fare of which every answer is decided, and each complete one kept as a reading. */
export interface LoneFare {
  readonly records: AloneRecord[]
  readonly readings: FareView[]
  readonly state: () => FareState
  /** When the next check is due, in seconds after the start. */
  readonly dueAt: () => number
  /** Decides an answer. Returns the kinds that it recorded. */
  readonly answer: (seconds: number, legs: Legs, context?: MassContext) => string[]
}

export interface LoneFareArgs {
  readonly hasReturn?: boolean
  /** What follows an answer that needs no confirmation, in seconds. */
  readonly everySeconds?: number
}

/** A fare without others: no mass forms. */
export function loneFare({ hasReturn = false, everySeconds = 60 }: LoneFareArgs = {}): LoneFare {
  let state = initialState(hasReturn)
  let due = 0
  const records: AloneRecord[] = []
  const readings: FareView[] = []
  return {
    records,
    readings,
    state: () => state,
    dueAt: () => due,
    answer: (seconds, [outbound, back], context = CALM) => {
      readings.push(viewOf(legOf(outbound), back === undefined ? null : legOf(back)))
      const decision = decide(state, answer(at(seconds), outbound, back), RULES, context)
      state = decision.state
      const { next } = decision
      due =
        typeof next === 'object' && 'confirmAt' in next
          ? Math.max(seconds + 1, (next.confirmAt.getTime() - at(0).getTime()) / 1000)
          : seconds + everySeconds
      records.push(...decision.changes.map((change) => ({ ...change, recordedAt: seconds })))
      return decision.changes.map(({ kind }) => kind)
    },
  }
}

const INWARDS = { identity: 'T1 MAD-PMI 2026-05-08' }

export function outward(amount: string, parts: Parameters<typeof available>[0] = {}) {
  return available({ price: eur(amount), ...parts })
}

export function inward(amount: string, parts: Parameters<typeof available>[0] = {}) {
  return available({ price: eur(amount), ...INWARDS, ...parts })
}
