import {
  divideBudget,
  type Limits,
  NO_PACE,
  type Pace,
  rateFor,
  type ScoreGroup,
  scoreOf,
  solvePace,
  type Worth,
} from '../../src/schedule/policy/pace.ts'
import { VirtualQueue } from './virtual-queue.ts'

/** What the watches of one reseller ask for a fare. */
export interface Want extends Limits {
  readonly reseller: number
  readonly weight: number
}

/** What the checks of a fare have shown, without the weights. */
export type FareWorth = Omit<Worth, 'weight'>

interface PacedFare {
  readonly wants: readonly Want[]
  readonly shortestSeconds: number
  worth: FareWorth
  /** By reseller; empty until the fare is counted. */
  scores: readonly number[]
  checkedAt: number | null
}

interface Group {
  fares: number
  scores: number
  readonly limits: Limits
}

interface Reseller {
  share: number
  pace: Pace
  /** The pace, for a budget of 1, that its fares have followed. */
  followed: { perScore: number; kept: number }
  readonly groups: Map<string, Group>
  inLanes: { checksPerSecond: number; at: number }
}

/** Checks in lanes are charged over this time, and fares follow a change of a pace by over a tenth at once. */
const CHARGED_SECONDS = 300
const MOST_IN_LANES = 0.5
const TENTH = 0.1
const SOLVE_SECONDS = 60
const JOIN_SECONDS = 5

/**
 * The schedule of production in memory: what src/schedule does in the database, by the rules of src/schedule/policy.
 */
export class PacedQueue {
  readonly queue = new VirtualQueue()
  readonly #fares = new Map<number, PacedFare>()
  readonly #resellers = new Map<number, Reseller>()
  readonly #waiting = new Set<number>()
  #solvedAt = Number.NEGATIVE_INFINITY
  requestsPerSecond: number

  constructor(requestsPerSecond: number) {
    this.requestsPerSecond = requestsPerSecond
  }

  setShare(reseller: number, share: number): void {
    this.#resellerOf(reseller).share = share
  }

  paceOf(reseller: number): Pace {
    return this.#resellerOf(reseller).pace
  }

  /** The fare joins the queue when the paces are solved next. */
  add(id: number, wants: readonly Want[], worth: FareWorth): void {
    const shortestSeconds = Math.min(...wants.map((want) => want.shortestSeconds))
    this.#fares.set(id, { wants, shortestSeconds, worth, scores: [], checkedAt: null })
    this.#waiting.add(id)
    this.#count(id)
  }

  remove(id: number): void {
    const fare = this.#fares.get(id)
    if (fare !== undefined) this.#addToGroups(fare, -1)
    this.#fares.delete(id)
    this.#waiting.delete(id)
    this.queue.remove(id)
  }

  claim(now: number): number | undefined {
    const after = this.#waiting.size > 0 ? JOIN_SECONDS : SOLVE_SECONDS
    if (now - this.#solvedAt >= after) this.solve(now)
    return this.queue.claim(now)
  }

  /** Records a check, which was claimed by the schedule or made in a lane. */
  complete(
    id: number,
    { now, worth, inLane = false }: { now: number; worth?: FareWorth; inLane?: boolean },
  ): void {
    const fare = this.#fares.get(id)
    if (fare === undefined) return
    fare.checkedAt = now
    if (worth !== undefined) this.#revalue(id, fare, worth)
    if (this.queue.rateOf(id) === undefined) return
    const time = { now, shortestSeconds: fare.shortestSeconds }
    if (inLane) this.queue.completeInLane(id, this.#rateOf(fare), time)
    else this.queue.complete(id, this.#rateOf(fare), time)
  }

  /** The checks a second that each reseller of the fare has it checked. */
  ratesOf(id: number): readonly number[] {
    const fare = this.#fares.get(id)
    return fare === undefined ? [] : this.#xOf(fare)
  }

  resellersOf(id: number): readonly number[] {
    return this.#fares.get(id)?.wants.map(({ reseller }) => reseller) ?? []
  }

  charge(reseller: number, checks: number, now: number): void {
    const known = this.#resellerOf(reseller)
    const checksPerSecond = lately(known, now) + checks / CHARGED_SECONDS
    known.inLanes = { checksPerSecond, at: now }
  }

  /** Whether a reseller has used half of its part of the budget in lanes. */
  isOverInLanes(reseller: number, now: number): boolean {
    const shares = this.#active().reduce((sum, { share }) => sum + share, 0)
    const known = this.#resellerOf(reseller)
    const part = (this.requestsPerSecond * known.share) / shares
    return lately(known, now) > MOST_IN_LANES * part
  }

  /** Solves the pace of each reseller; all fares of one whose pace has changed by over a tenth follow. */
  solve(now: number): void {
    this.#solvedAt = now
    const active = this.#active()
    const claimants = active.map((reseller) => {
      return { share: reseller.share, inLanes: lately(reseller, now) }
    })
    const whole = divideBudget(
      claimants.map(({ share }) => ({ share, inLanes: 0 })),
      this.requestsPerSecond,
    )
    const left = divideBudget(claimants, this.requestsPerSecond)
    const following = new Set<Reseller>()
    for (const [i, reseller] of active.entries()) {
      const pace = solvePace(groupsOf(reseller), left[i] ?? 0, whole[i] ?? 0)
      reseller.pace = pace
      const perScore = pace.perScore / this.requestsPerSecond
      const { followed } = reseller
      if (isNear(perScore, followed.perScore) && isNear(pace.kept, followed.kept)) continue
      reseller.followed = { perScore, kept: pace.kept }
      following.add(reseller)
    }
    this.#follow(following)
    this.queue.limit()
    // What lanes take is no time of the clock: else fares at their shortest intervals would be due later than these.
    const inLanes = claimants.reduce((sum, { inLanes }) => sum + inLanes, 0)
    this.queue.speed = (this.requestsPerSecond - inLanes) / Math.max(this.queue.sum, 1e-12)
  }

  #follow(following: ReadonlySet<Reseller>): void {
    for (const [id, fare] of following.size > 0 ? this.#fares : []) {
      if (fare.wants.some(({ reseller }) => following.has(this.#resellerOf(reseller)))) {
        this.queue.setRate(id, this.#rateOf(fare))
      }
    }
    for (const id of this.#waiting) {
      const fare = this.#fares.get(id)
      if (fare === undefined) continue
      const notBefore = fare.checkedAt === null ? 0 : fare.checkedAt + fare.shortestSeconds
      this.queue.join(id, this.#rateOf(fare), notBefore)
    }
    this.#waiting.clear()
  }

  #active(): Reseller[] {
    return [...this.#resellers.values()].filter(({ groups, share }) => groups.size > 0 && share > 0)
  }

  #resellerOf(id: number): Reseller {
    const known = this.#resellers.get(id)
    if (known !== undefined) return known
    const made: Reseller = {
      share: 1,
      pace: NO_PACE,
      followed: { perScore: 0, kept: 1 },
      groups: new Map(),
      inLanes: { checksPerSecond: 0, at: 0 },
    }
    this.#resellers.set(id, made)
    return made
  }

  #xOf(fare: PacedFare): number[] {
    return fare.wants.map((want, i) =>
      rateFor(this.paceOf(want.reseller), { ...want, score: fare.scores[i] ?? 0 }),
    )
  }

  #rateOf(fare: PacedFare): number {
    const sum = this.#xOf(fare).reduce((a, b) => a + b, 0)
    return Math.min(sum, 1 / fare.shortestSeconds)
  }

  #revalue(id: number, fare: PacedFare, worth: FareWorth): void {
    this.#addToGroups(fare, -1)
    fare.worth = worth
    this.#count(id)
  }

  #count(id: number): void {
    const fare = this.#fares.get(id)
    if (fare === undefined) return
    fare.scores = fare.wants.map(({ reseller, weight }) =>
      scoreOf({ ...fare.worth, weight }, this.paceOf(reseller).mostChanges),
    )
    this.#addToGroups(fare, 1)
  }

  /** Groups as production counts them: scores that differ by at most 5 %. */
  #addToGroups({ wants, scores }: PacedFare, sign: 1 | -1): void {
    for (const [i, want] of wants.entries()) {
      const { groups } = this.#resellerOf(want.reseller)
      const score = scores[i] ?? 0
      const { longestSeconds, shortestSeconds } = want
      const key = `${Math.round(20 * Math.log(score))} ${longestSeconds} ${shortestSeconds}`
      const limits = { longestSeconds, shortestSeconds }
      const group = groups.get(key) ?? { fares: 0, scores: 0, limits }
      group.fares += sign
      group.scores += sign * score
      if (group.fares > 0) groups.set(key, group)
      else groups.delete(key)
    }
  }
}

function lately({ inLanes: { checksPerSecond, at } }: Reseller, now: number): number {
  return checksPerSecond * Math.exp(-Math.max(0, now - at) / CHARGED_SECONDS)
}

function groupsOf({ groups }: Reseller): ScoreGroup[] {
  return [...groups.values()].map(({ fares, scores, limits }) => {
    return { fares, score: scores / fares, ...limits }
  })
}

function isNear(a: number, b: number): boolean {
  return Math.abs(a - b) <= TENTH * b
}
