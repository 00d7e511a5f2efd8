import { isDeepStrictEqual } from 'node:util'
import type { Money } from '../../src/base/money.ts'
import { isTroubleOver, isUpstreamTrouble } from '../../src/verify/incidents/incident.ts'
import {
  type Asked,
  type ExpectedChange,
  expectedChanges,
  isBorneOut,
  type ModelRules,
  shownAfter,
} from './naive-model.ts'
import { type Answer, legsOf, QUESTIONS, type WatchPlan } from './pipeline-steps.ts'
import { priceMoved } from './price-threshold.ts'
import { saidBy } from './stories.ts'

/** A question of a job: when it was asked, among all that ever were. */
export interface Ask {
  readonly question: number
  readonly order: number
}

/** What must be told to a reseller. */
export interface Told {
  readonly reference: string
  readonly kind: string
  readonly question: number
}

export interface ModelWatch extends WatchPlan {
  readonly reference: string
  paused: boolean
  told: Money | null
  /** Whether it has not had its first look; only questions from this one on are one. */
  fresh: boolean
  /** Of a fresh one, the answers since it began. */
  story: readonly Asked[]
  beganAt: number
}

export interface ModelFare {
  /** The answers that counted, in the order of the requests. */
  readonly story: Asked[]
  changes: ExpectedChange[]
  /** The claim whose answer would count. */
  claim: string | null
  lastCounted: number
}

/** What must come of a script, by the rules of which answers count and of who is told. */
export class PipelineModel {
  readonly fares: ModelFare[] = QUESTIONS.map(() => {
    return { story: [], changes: [], claim: null, lastCounted: -1 }
  })
  readonly watches: ModelWatch[] = []
  readonly feeds = { ana: [] as Told[], ben: [] as Told[] }
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

  /** @param beganAt the number of the next question. */
  watch(plan: WatchPlan, beganAt: number): ModelWatch {
    const reference = `w${this.watches.length}`
    const watch = { ...plan, reference, paused: false, told: null, fresh: true, story: [], beganAt }
    this.watches.push(watch)
    return watch
  }

  isActive(question: number): boolean {
    return this.watches.some((watch) => watch.question === question && !watch.paused)
  }

  /** A watch was paused or resumed: the turn of a fare that nobody watches is gone, and its claim with it. */
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
    for (const watch of this.watches) {
      if (watch.question !== ask.question || watch.paused) continue
      if (!watch.fresh) this.#tell(watch, before, changes)
      else if (watch.beganAt <= ask.order) this.#tellFresh(watch, fare.story)
    }
  }

  #tell(watch: ModelWatch, before: Money | null, changes: readonly ExpectedChange[]): void {
    const { reference, question, amount, percent } = watch
    const told = changes.filter(
      ({ kind, price }) =>
        kind !== 'price_changed' || priceMoved(watch.told ?? before, price, { amount, percent }),
    )
    for (const { kind } of told) this.feeds[watch.reseller].push({ reference, kind, question })
    const last = told.at(-1)
    if (last === undefined) return
    watch.told = last.price
  }

  /** Until its first look a watch is told what it would be, were it the first to ask. */
  #tellFresh(watch: ModelWatch, story: readonly Asked[]): void {
    const known = expectedChanges(watch.story, this.#rules)
    watch.story = [...watch.story, ...story.slice(-1)]
    const changes = expectedChanges(watch.story, this.#rules).slice(known.length)
    this.#tell(watch, known.at(-1)?.price ?? null, changes)
    const [own, all] = [watch.story, story].map((one) => shownAfter(one, this.#rules))
    watch.fresh = !(isBorneOut(story, this.#rules) && isDeepStrictEqual(own, all))
  }
}
