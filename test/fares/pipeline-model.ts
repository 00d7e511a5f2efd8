import { type DecisionRules, decide } from '../../src/fares/decide.ts'
import { type FareState, initialState } from '../../src/fares/state.ts'
import type { Money } from '../../src/platform/base/money.ts'
import { answer, CALM, RULES } from './answers.ts'
import { type Answer, legsOf, QUESTIONS, type WatchPlan } from './pipeline-steps.ts'
import { priceMoved } from './price-threshold.ts'

/** A call of a job, and its place in the order of all calls. */
export interface Call {
  readonly question: number
  readonly order: number
}

/** A record that a reseller must receive. */
export interface ExpectedRecord {
  readonly reference: string
  readonly kind: string
  /** The state of the fare after it. */
  readonly pair: string
  readonly price: Money | null
}

/** A change that must be recorded. */
interface ExpectedChange {
  readonly kind: string
  readonly detectedAt: string
  readonly lastGoodCheckAt: string | null
  readonly pair: string
  /** The price of the pair after the change. */
  readonly price: Money | null
}

export interface ModelWatch extends WatchPlan {
  readonly reference: string
  paused: boolean
  lastNotified: Money | null
  /** Whether its `watch_started` is written. */
  started: boolean
}

export interface ModelFare {
  /** What the checks that counted have made of it, in the order of the requests. */
  state: FareState
  checks: number
  readonly changes: ExpectedChange[]
  /** Whether it had a good check. A world is so short that the belief stays fresh. */
  known: boolean
  /** Whether its last answers showed another flight than is believed: then no belief is shown. */
  hidden: boolean
  /** The claim whose answer would count. */
  claim: string | null
  lastCounted: number
}

/** The results that a script must have: which checks count, and which records each reseller receives. */
export class PipelineModel {
  readonly fares: ModelFare[] = QUESTIONS.map(({ returnFlightId }) => ({
    state: initialState(returnFlightId !== null),
    checks: 0,
    changes: [],
    known: false,
    hidden: false,
    claim: null,
    lastCounted: -1,
  }))
  readonly watches: ModelWatch[] = []
  readonly feeds = { ana: [] as ExpectedRecord[], ben: [] as ExpectedRecord[] }
  readonly #rules: DecisionRules

  constructor(counts: Partial<DecisionRules>) {
    this.#rules = { ...RULES, ...counts }
  }

  fare(question: number): ModelFare {
    const fare = this.fares[question]
    if (fare === undefined) throw new Error(`there is no question ${question}`)
    return fare
  }

  watch(plan: WatchPlan): ModelWatch {
    const reference = `w${this.watches.length}`
    const watch = { ...plan, reference, paused: false, lastNotified: null, started: false }
    this.watches.push(watch)
    this.#startIfKnown(watch)
    return watch
  }

  pause(watch: ModelWatch): void {
    watch.paused = true
    this.releaseUnwatched()
  }

  /** A watch that is paused begins again. */
  resume(watch: ModelWatch): void {
    if (!watch.paused) return
    Object.assign(watch, { paused: false, started: false })
    this.#startIfKnown(watch)
  }

  isActive(question: number): boolean {
    return this.watches.some((watch) => watch.question === question && !watch.paused)
  }

  /** A fare without an active watch leaves the schedule, and its claim ends. */
  releaseUnwatched(): void {
    for (const [question, fare] of this.fares.entries()) {
      if (!this.isActive(question)) fare.claim = null
    }
  }

  /** The calls whose answers count if they are recorded now. */
  countable(claim: string | null, calls: readonly Call[]): Call[] {
    return calls.filter(({ question, order }) => {
      const fare = this.fare(question)
      if (claim !== null && fare.claim !== claim) return false
      return order > fare.lastCounted
    })
  }

  /** Counts an answer: its changes, and the records of resellers. */
  count(
    call: Call,
    { answers, askedAt, hidden }: { answers: readonly Answer[]; askedAt: Date; hidden: boolean },
  ): void {
    const fare = this.fare(call.question)
    const { outbound, back } = legsOf(answers, call.question)
    const shown = answer(askedAt, outbound, back)
    const { state, changes: decided, good } = decide(fare.state, shown, this.#rules, CALM)
    fare.claim = null
    fare.lastCounted = call.order
    fare.checks += 1
    fare.state = state
    const before = fare.changes.at(-1)?.price ?? null
    const changes = decided.map(({ kind, detectedAt, lastGoodCheckAt, after }) => {
      return { kind, detectedAt, lastGoodCheckAt, pair: after.pair, price: after.price }
    })
    fare.changes.push(...changes)
    fare.known ||= good
    fare.hidden = hidden
    const isFirst = changes.some(({ kind }) => kind === 'first_seen')
    for (const watch of this.watches) {
      if (watch.question !== call.question || watch.paused) continue
      if (isFirst) this.#start(watch)
      else if (good && !watch.started) this.#startIfKnown(watch)
      else this.#notify(watch, before, changes)
    }
  }

  #startIfKnown(watch: ModelWatch): void {
    const { known, hidden } = this.fare(watch.question)
    if (known && !hidden) this.#start(watch)
  }

  /** Writes the one record of a beginning, with the present belief. */
  #start(watch: ModelWatch): void {
    const { changes } = this.fare(watch.question)
    const { pair, price } = changes.at(-1) ?? { pair: 'unknown', price: null }
    const { reference } = watch
    this.feeds[watch.reseller].push({ reference, kind: 'watch_started', pair, price })
    Object.assign(watch, { started: true, lastNotified: price })
  }

  #notify(watch: ModelWatch, before: Money | null, changes: readonly ExpectedChange[]): void {
    const { reference, amount, percent } = watch
    const passing = changes.filter(
      ({ kind, price }) =>
        kind !== 'price_changed' ||
        priceMoved(watch.lastNotified ?? before, price, { amount, percent }),
    )
    for (const { kind, pair, price } of passing) {
      this.feeds[watch.reseller].push({ reference, kind, pair, price })
    }
    const last = passing.at(-1)
    if (last !== undefined) watch.lastNotified = last.price
  }
}
