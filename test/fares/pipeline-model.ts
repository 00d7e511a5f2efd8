import type { Money } from '../../src/platform/base/money.ts'
import {
  type ExpectedChange,
  expectedChanges,
  type ModelCheck,
  type ModelRules,
  wasLastGood,
} from './naive-model.ts'
import { type Answer, legsOf, QUESTIONS, type WatchPlan } from './pipeline-steps.ts'
import { priceMoved } from './price-threshold.ts'
import { answerOf } from './stories.ts'

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

export interface ModelWatch extends WatchPlan {
  readonly reference: string
  paused: boolean
  lastNotified: Money | null
  /** Whether its `watch_started` is written. */
  started: boolean
}

export interface ModelFare {
  /** The checks that counted, in the order of the requests. */
  readonly story: ModelCheck[]
  changes: ExpectedChange[]
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
  readonly fares: ModelFare[] = QUESTIONS.map(() => {
    return { story: [], changes: [], known: false, hidden: false, claim: null, lastCounted: -1 }
  })
  readonly watches: ModelWatch[] = []
  readonly feeds = { ana: [] as ExpectedRecord[], ben: [] as ExpectedRecord[] }
  readonly #rules: ModelRules

  constructor(rules: ModelRules) {
    this.#rules = rules
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
    fare.story.push({ askedAt, outbound: answerOf(outbound), return: back && answerOf(back) })
    fare.claim = null
    fare.lastCounted = call.order
    const before = fare.changes.at(-1)?.price ?? null
    const known = fare.changes.length
    fare.changes = expectedChanges(fare.story, this.#rules)
    const changes = fare.changes.slice(known)
    const isGood = wasLastGood(fare.story, this.#rules)
    fare.known ||= isGood
    fare.hidden = hidden
    const isFirst = changes.some(({ kind }) => kind === 'first_seen')
    for (const watch of this.watches) {
      if (watch.question !== call.question || watch.paused) continue
      if (isFirst) this.#start(watch)
      else if (isGood && !watch.started) this.#startIfKnown(watch)
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
