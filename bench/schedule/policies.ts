import { RATED_STATES, type RatedState } from '../../src/platform/base/kinds.ts'
import { MAX_FACTOR, PULL_FACTOR, PULL_SHARE } from '../../src/schedule/policy/factors.ts'
import { learnCheck } from '../../src/schedule/policy/learn-check.ts'
import {
  ALL_FACTORS,
  changesPerDay,
  createRateModel,
  type FareMemory,
  MEMORY_DAYS,
  NEW_FARE,
  type RateModel,
  type Switches,
  surpriseAt,
} from '../../src/schedule/policy/rate-model.ts'
import { type FareWorth, PacedQueue, type Want } from './paced-queue.ts'
import { VirtualQueue } from './virtual-queue.ts'
import type { WorldFare } from './worlds.ts'

/** What one check showed. */
export interface Observation {
  readonly state: RatedState
  readonly changed: boolean
  readonly value: number
}

/** A schedule of checks, as the simulation drives it. Times are in seconds. */
export interface Policy {
  readonly name: string
  readonly add: (fare: WorldFare, now: number) => void
  readonly remove: (id: number) => void
  readonly claim: (now: number) => number | undefined
  readonly report: (id: number, now: number, observation: Observation) => void
  /** A route has gained or lost availability in the list of the upstream. */
  readonly signal?: (route: string) => void
}

const MIN_INTERVAL = 60

type RateRule = (fare: WorldFare, state: RatedState) => number

/** A schedule whose rates follow from the fares alone. */
function fixedPolicy(name: string, requestsPerSecond: number, rule: RateRule): Policy {
  const queue = new VirtualQueue()
  const known = new Map<number, WorldFare>()
  return {
    name,
    add: (fare) => {
      known.set(fare.id, fare)
      queue.join(fare.id, rule(fare, 'available'))
    },
    remove: (id) => queue.remove(id),
    claim: (now) => {
      queue.speed = requestsPerSecond / queue.sum
      return queue.claim(now)
    },
    report: (id, now, { state }) => {
      const fare = known.get(id)
      if (fare === undefined) return
      queue.complete(id, rule(fare, state), { now, shortestSeconds: MIN_INTERVAL })
    },
  }
}

export function roundRobin(requestsPerSecond: number): Policy {
  return fixedPolicy('round robin', requestsPerSecond, () => 1)
}

export function rootWeight(requestsPerSecond: number): Policy {
  return fixedPolicy('√ of the weight', requestsPerSecond, ({ weight }) => Math.sqrt(weight))
}

/** Knows the true rates, except what changes with time. */
export function rootOracle(requestsPerSecond: number): Policy {
  return fixedPolicy('√ oracle', requestsPerSecond, ({ weight, truth }, state) =>
    Math.max(1e-6, Math.sqrt(weight * truth[state].value * truth[state].changesPerDay)),
  )
}

/** What the checks of a fare teach. */
class Learner {
  readonly model: RateModel
  readonly #memories = new Map<number, FareMemory>()
  #learnedAt = 0

  constructor(switches: Switches) {
    this.model = createRateModel(switches)
  }

  memoryOf(id: number): FareMemory {
    return this.#memories.get(id) ?? NEW_FARE
  }

  forget(id: number): void {
    this.#memories.delete(id)
  }

  learn({ id, route }: WorldFare, now: number, observation: Observation): void {
    decay(this.model, now - this.#learnedAt)
    this.#learnedAt = now
    const check = { at: now, ...observation, route }
    this.#memories.set(id, learnCheck(this.model, this.memoryOf(id), check))
  }

  worthOf({ id, route }: WorldFare, now: number): FareWorth {
    const memory = this.memoryOf(id)
    return {
      value: memory.values[memory.state ?? 'available'],
      changesPerDay: changesPerDay(this.model, memory, { at: now, route }),
    }
  }
}

/** What the database does in production when processes share what they learned. */
function decay({ all }: RateModel, elapsedSeconds: number): void {
  const kept = Math.exp(-elapsedSeconds / 86_400 / MEMORY_DAYS)
  for (const state of RATED_STATES) {
    const { changes, exposure } = all[state]
    all[state] = { changes: changes * kept, exposure: exposure * kept }
  }
}

/** Rates in proportion to the worth, as feed readers poll. */
export function proportional(requestsPerSecond: number): Policy {
  const learner = new Learner({ recency: false, surprise: false })
  const known = new Map<number, WorldFare>()
  const rateOf = (fare: WorldFare, now: number) => {
    const { value, changesPerDay: changes } = learner.worthOf(fare, now)
    return Math.max(1e-3, fare.weight * value * changes)
  }
  const queue = new VirtualQueue()
  return {
    name: 'proportional',
    add: (fare, now) => {
      known.set(fare.id, fare)
      queue.join(fare.id, rateOf(fare, now))
    },
    remove: (id) => {
      queue.remove(id)
      learner.forget(id)
    },
    claim: (now) => {
      queue.speed = requestsPerSecond / queue.sum
      return queue.claim(now)
    },
    report: (id, now, observation) => {
      const fare = known.get(id)
      if (fare === undefined) return
      learner.learn(fare, now, observation)
      queue.complete(id, rateOf(fare, now), { now, shortestSeconds: MIN_INTERVAL })
    },
  }
}

export interface Learning {
  readonly requestsPerSecond: number
  readonly switches?: Switches
  /** Whether the list of routes with availability pulls fares forward. */
  readonly lists?: boolean
  /** The resellers that watch a fare. Default: one. */
  readonly wantsOf?: (fare: WorldFare) => readonly Want[]
  readonly shares?: readonly number[]
}

/** The parts of the budget that first checks and pulled fares may use, and the most checks that pulled fares may save up. */
const [FIRST_SHARE, MOST_CREDIT] = [0.2, 500]

const ONE_RESELLER = ({ weight }: WorldFare): Want[] => [
  { reseller: 0, weight, longestSeconds: null, shortestSeconds: MIN_INTERVAL },
]

/** The policy of production. */
export class LearningPolicy implements Policy {
  readonly name = 'ours'
  readonly #learner: Learner
  readonly #queue: PacedQueue
  readonly #wantsOf: (fare: WorldFare) => readonly Want[]
  readonly #lists: boolean
  readonly #fares = new Map<number, WorldFare>()
  readonly #routes = new Map<string, Set<number>>()
  /** By fare the surprise of its route that its rate includes. */
  readonly #surprises = new Map<number, number>()
  readonly #first = new Set<number>()
  #firstCredit = 0
  #pullCredit = 0

  constructor(learning: Learning) {
    this.#learner = new Learner(learning.switches ?? ALL_FACTORS)
    this.#queue = new PacedQueue(learning.requestsPerSecond)
    this.#wantsOf = learning.wantsOf ?? ONE_RESELLER
    this.#lists = learning.lists ?? false
    for (const [reseller, share] of (learning.shares ?? [1]).entries()) {
      this.#queue.setShare(reseller, share)
    }
  }

  add(fare: WorldFare, now: number): void {
    this.#fares.set(fare.id, fare)
    this.#first.add(fare.id)
    if (fare.route !== null) {
      const siblings = this.#routes.get(fare.route) ?? new Set()
      this.#routes.set(fare.route, siblings.add(fare.id))
    }
    this.#queue.add(fare.id, this.#wantsOf(fare), this.#learner.worthOf(fare, now))
  }

  remove(id: number): void {
    const route = this.#fares.get(id)?.route
    if (route != null) this.#routes.get(route)?.delete(id)
    this.#fares.delete(id)
    this.#first.delete(id)
    this.#surprises.delete(id)
    this.#learner.forget(id)
    this.#queue.remove(id)
  }

  claim(now: number): number | undefined {
    this.#firstCredit = Math.min(1, this.#firstCredit + FIRST_SHARE)
    const [first] = this.#first
    if (first !== undefined && this.#firstCredit >= 1) {
      this.#firstCredit -= 1
      return first
    }
    this.#pullCredit = Math.min(MOST_CREDIT, this.#pullCredit + PULL_SHARE)
    return this.#queue.claim(now)
  }

  report(id: number, now: number, observation: Observation): void {
    const fare = this.#fares.get(id)
    if (fare === undefined) return
    const { route } = fare
    this.#learner.learn(fare, now, observation)
    const { model } = this.#learner
    this.#surprises.set(id, surpriseAt(model, this.#learner.memoryOf(id), { at: now, route }))
    const inLane = this.#first.delete(id)
    this.#queue.complete(id, { now, worth: this.#learner.worthOf(fare, now), inLane })
    if (inLane) {
      const wants = this.#wantsOf(fare)
      for (const { reseller } of wants) this.#queue.charge(reseller, 1 / wants.length, now)
    }
    if (!observation.changed || route === null) return
    this.#pull(route, (sibling) =>
      surpriseAt(model, this.#learner.memoryOf(sibling), { at: now, route }),
    )
  }

  signal(route: string): void {
    if (this.#lists) this.#pull(route, () => Number.POSITIVE_INFINITY)
  }

  /** Has the fares of a route checked sooner, each once until its next check: as if the last one had seen the factor. */
  #pull(route: string, factorOf: (id: number) => number): void {
    for (const id of this.#byDueTime(route)) {
      if (this.#pullCredit < 1) return
      const factor = factorOf(id)
      const surprise = this.#surprises.get(id) ?? 1
      if (factor <= surprise * PULL_FACTOR) continue
      this.#pullCredit -= this.#queue.queue.pull(id, Math.sqrt(surprise / factor))
      this.#surprises.set(id, Math.min(factor, MAX_FACTOR))
    }
  }

  #byDueTime(route: string): number[] {
    const due = (id: number) => this.#queue.queue.vdueOf(id) ?? Number.POSITIVE_INFINITY
    return [...(this.#routes.get(route) ?? [])].sort((a, b) => due(a) - due(b))
  }
}
