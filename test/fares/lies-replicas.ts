import type { FareChange } from '../../src/fares/answer.ts'
import { decide } from '../../src/fares/decide.ts'
import { type FareState, type FareView, initialState } from '../../src/fares/state.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { seeded } from '../soak/run-soak.ts'
import { answer, at, available, CALM, eur, RULES, UNAVAILABLE } from './answers.ts'

/** A change, and when it was recorded, in seconds after the start. */
interface LoneRecord extends FareChange {
  readonly recordedAt: number
}

/** A fare of one leg of which every answer is decided. No mass forms. */
interface LoneFare {
  readonly records: readonly LoneRecord[]
  readonly state: () => FareState
  /** When the next check is due, in seconds after the start. */
  readonly dueAt: () => number
  readonly answer: (seconds: number, leg: LegObservation) => void
}

/** A fare that is checked after so many seconds where an answer needs no confirmation. */
export function loneFare(everySeconds = 60): LoneFare {
  let state = initialState(false)
  let due = 0
  const records: LoneRecord[] = []
  return {
    records,
    state: () => state,
    dueAt: () => due,
    answer: (seconds, leg) => {
      const decision = decide(state, answer(at(seconds), leg), RULES, CALM)
      state = decision.state
      const { next } = decision
      due =
        typeof next === 'object' && 'confirmAt' in next
          ? Math.max(seconds + 1, (next.confirmAt.getTime() - at(0).getTime()) / 1000)
          : seconds + everySeconds
      records.push(...decision.changes.map((change) => ({ ...change, recordedAt: seconds })))
    },
  }
}

export function outward(amount: string): LegObservation {
  return available({ price: eur(amount) })
}

/** A fare is sold out, or has this price, from this second on until the next phase. */
export interface Phase {
  readonly from: number
  readonly amount: string | null
}

export interface ReplicaTruth {
  readonly seconds: number
  readonly fares: readonly (readonly Phase[])[]
}

export interface ReplicaRecord extends LoneRecord {
  readonly fare: number
}

/** Steps of prices, near and far, up and down. */
const STEPS = [1.07, 0.93, 1.3, 0.75, 2.4, 0.42]

/** Fares that change at random every two to thirty minutes. No price comes twice. */
export function replicaTruth(args: {
  readonly seed: number
  readonly fares: number
  readonly seconds: number
}): ReplicaTruth {
  const random = seeded(args.seed)
  const life = (): Phase[] => {
    const phases: Phase[] = []
    let price = 100 + 100 * random()
    for (let from = 0; from < args.seconds; from += 120 + 1_680 * random() ** 2) {
      const wasLost = phases.at(-1)?.amount === null
      const isLost = !wasLost && random() < 0.4
      price *= STEPS[Math.floor(random() * STEPS.length)] ?? 1
      if (price < 20 || price > 2_000) price = 100 + 100 * random()
      phases.push({ from, amount: isLost ? null : price.toFixed(2) })
    }
    return phases
  }
  return { seconds: args.seconds, fares: Array.from({ length: args.fares }, life) }
}

export function phaseAt(phases: readonly Phase[], second: number): Phase | undefined {
  return phases.findLast(({ from }) => from <= second) ?? phases[0]
}

/** Asks each fare when it is due, and gets the state of now or that of the older replica at random. */
export function watchReplicas(
  { fares, seconds }: ReplicaTruth,
  args: { readonly seed: number; readonly olderBy: number; readonly everySeconds: number },
): readonly ReplicaRecord[] {
  const random = seeded(args.seed + 1_000)
  return fares.flatMap((phases, fare) => {
    const watched = loneFare(args.everySeconds)
    for (let now = 0; now < seconds; now = Math.max(now, watched.dueAt()) + random()) {
      const phase = phaseAt(phases, now - (random() < 0.5 ? args.olderBy : 0))
      watched.answer(now, answerOf(phase))
    }
    return watched.records.map((record) => ({ ...record, fare }))
  })
}

function answerOf(phase: Phase | undefined): LegObservation {
  return phase?.amount ? outward(phase.amount) : UNAVAILABLE
}

/** The records that show no later phase of their fare than the records before them: they return to what was over. */
export function falseRecords(truth: ReplicaTruth, records: readonly ReplicaRecord[]): string[] {
  return truth.fares.flatMap((phases, fare) => {
    let last = -1
    return records.flatMap((record) => {
      if (record.fare !== fare) return []
      const shown = phases.findIndex(
        (phase, at) => at > last && phase.from <= record.recordedAt && isShown(record.after, phase),
      )
      if (shown === -1) return [textOf(record, phases)]
      last = shown
      return []
    })
  })
}

/** A price that the answers before did not show is left out. */
function isShown({ pair, price, priceReason }: FareView, { amount }: Phase): boolean {
  if (pair !== 'bookable') return amount === null
  return priceReason === 'unconfirmed' ? amount !== null : price?.amount === amount
}

function textOf({ fare, kind, after, recordedAt }: ReplicaRecord, phases: readonly Phase[]) {
  const sinceChange = Math.round(recordedAt - (phaseAt(phases, recordedAt)?.from ?? 0))
  const shown = after.price?.amount ?? after.pair
  return `fare ${fare}: ${kind}, ${shown}, ${sinceChange} s after it was over`
}
