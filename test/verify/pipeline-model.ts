import type { Money } from '../../src/base/money.ts'
import { isTroubleOver, isUpstreamTrouble } from '../../src/verify/incidents/incident.ts'
import {
  type Asked,
  type ExpectedChange,
  expectedChanges,
  type ModelRules,
  wasLastGood,
} from './naive-model.ts'
import { type Answer, legsOf, QUESTIONS, type WatchPlan } from './pipeline-steps.ts'
import { priceMoved } from './price-threshold.ts'
import { saidBy } from './stories.ts'

/** A question of a job: when it was asked, among all that ever were. */
export interface Ask {
  readonly question: number
  readonly order: number
}

/** A record that a reseller must receive, by what matters of it. */
export interface ExpectedRecord {
  readonly reference: string
  readonly kind: string
  /** Of the fare after it. */
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
  /** The answers that counted, in the order of the requests. */
  readonly story: Asked[]
  changes: ExpectedChange[]
  /** Whether a good check has shown where it stands; in the short life of a world such a belief stays fresh. */
  known: boolean
  /** The claim whose answer would count. */
  claim: string | null
  lastCounted: number
}

/** What must come of a script, by the rules of which answers count and of who is told. */
export class PipelineModel {
  readonly fares: ModelFare[] = QUESTIONS.map(() => {
    return { story: [], changes: [], known: false, claim: null, lastCounted: -1 }
  })
  readonly watches: ModelWatch[] = []
  readonly feeds = { ana: [] as ExpectedRecord[], ben: [] as ExpectedRecord[] }
  readonly #rules: ModelRules
  readonly #heard = { checks: 0, unknown: 0 }
  #trouble: 'open' | 'none' = 'none'

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
    this.settleWatches()
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

  /** A watch was paused: the turn of a fare that nobody watches is gone, and its claim with it. */
  settleWatches(): void {
    for (const [question, fare] of this.fares.entries()) {
      if (!this.isActive(question)) fare.claim = null
    }
  }

  /** The questions whose answers would count, were they recorded now. */
  countable(claim: string | null, asks: readonly Ask[]): Ask[] {
    return asks.filter(({ question, order }) => {
      const fare = this.fare(question)
      if (claim !== null && fare.claim !== claim) return false
      return order > fare.lastCounted
    })
  }

  /** Whether the upstream tells so little that losses are held; a batch's own answers count first. */
  hear(answers: readonly Answer[], questions: readonly number[]): boolean {
    this.#heard.checks += questions.length
    this.#heard.unknown += questions.filter((question) => {
      const { outbound, back } = legsOf(answers, question)
      return outbound.kind === 'unknown' || back?.kind === 'unknown'
    }).length
    const isOpen = (this.#trouble as string) === 'open'
    const goesOn = isOpen ? !isTroubleOver(this.#heard) : isUpstreamTrouble(this.#heard)
    this.#trouble = goesOn ? 'open' : 'none'
    return goesOn
  }

  /** An answer counted: what it changes, and who is told. */
  count(
    ask: Ask,
    { answers, ...when }: { answers: readonly Answer[]; askedAt: Date; held: boolean },
  ): void {
    const fare = this.fare(ask.question)
    const { outbound, back } = legsOf(answers, ask.question)
    fare.story.push({ ...when, outbound: saidBy(outbound), return: back && saidBy(back) })
    fare.claim = null
    fare.lastCounted = ask.order
    const before = fare.changes.at(-1)?.price ?? null
    const known = fare.changes.length
    fare.changes = expectedChanges(fare.story, this.#rules)
    const changes = fare.changes.slice(known)
    const isGood = wasLastGood(fare.story, this.#rules)
    fare.known ||= isGood
    for (const watch of this.watches) {
      if (watch.question !== ask.question || watch.paused) continue
      if (isGood && !watch.started) this.#startIfKnown(watch)
      else this.#notify(watch, before, changes)
    }
  }

  /** One record for each beginning, with what is believed by then. */
  #startIfKnown(watch: ModelWatch): void {
    const { known, changes } = this.fare(watch.question)
    if (!known) return
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
