import { FAST_LANES, type FastLane } from '../../src/platform/base/kinds.ts'
import { shareTurns, type Taker, withoutSavings } from '../../src/schedule/queues.ts'
import { createRandom } from './random.ts'

/** What a reseller asks of a fare. Times are in seconds. */
export interface Want {
  readonly reseller: number
  readonly weight: number
  readonly minSeconds: number
  readonly maxSeconds: number | null
}

/** What a score takes from the queue of its reseller. */
interface QueueMeans {
  readonly meanScore: number
  readonly mostChanges: number
}

export type ScoreOf = (weight: number, means: QueueMeans) => number

/** Why a fare is checked before its turn, and when. */
export interface Urgent {
  readonly lane: FastLane
  readonly at: number
}

export interface TurnsArgs {
  readonly requestsPerSecond: number
  readonly shares: readonly number[]
  /** The minimum interval of all fares. */
  readonly minSeconds: number
}

interface Queue extends Taker {
  pass: number
  v: number
  speed: number
  movedAt: number
  fares: number
  scores: number
  promised: number
  /** How many fares of moving routes may come forward. */
  credit: number
  readonly due: Heap<Turn>
}

interface Turn {
  readonly fare: Fare
  readonly queue: Queue
  readonly want: Want
  score: number
  vdue: number
}

interface Fare {
  readonly id: number
  readonly minSeconds: number
  readonly turns: Turn[]
  notBefore: number
  /** Outside of its minimum interval. */
  isFree: boolean
  urgent: Urgent | null
}

interface UrgentFare {
  readonly fare: Fare
  readonly urgent: Urgent
}

/** As in claim.ts, queues.ts and due.ts of src/schedule. */
const SPEED_SECONDS = 60
const [NEIGHBOUR_SHARE, MOST_NEIGHBOURS] = [0.4, 500]
const [MOST_PROMISED, MOST_CHANGES_A_DAY] = [0.7, 3 * 86_400]
/** The parts of the budget for urgent checks, and for all of them together. Longest delays are outside of it. */
const LANE_SHARES = { max_delay: 1, confirmation: 0.4, first_check: 0.2, retry: 0.1 } as const
const ALL_LANES = 0.4
/** The end of an interval is a sum: its last digits are lost. */
const NOTHING = 1e-9

/** The rule of production in memory: what src/schedule does in the database, one check at each slot of the budget. */
export class Turns {
  readonly #args: TurnsArgs
  readonly #queues: readonly Queue[]
  readonly #fares = new Map<number, Fare>()
  readonly #waiting = new Heap<Fare>()
  readonly #urgent = new Map(FAST_LANES.map((lane) => [lane, new Heap<UrgentFare>()]))
  readonly #credits = { max_delay: 0, confirmation: 0, first_check: 0, retry: 0, all: 0 }
  readonly #random = createRandom(1)
  #leastPass = 0

  constructor(args: TurnsArgs) {
    this.#args = args
    this.#queues = args.shares.map((share, resellerId) => {
      const nothing = { pass: 0, v: 0, speed: 0, movedAt: 0, fares: 0, scores: 0, promised: 0 }
      return { resellerId, share, ...nothing, credit: 0, due: new Heap<Turn>() }
    })
  }

  /** A fare joins anywhere in its first interval, with an urgent first check if it has one. The first want pays for it. */
  add(
    id: number,
    wants: readonly Want[],
    { now, scoreOf, isUrgent }: { now: number; scoreOf: ScoreOf; isUrgent: boolean },
  ): void {
    const least = Math.min(...wants.map((want) => want.minSeconds))
    const minSeconds = Math.max(this.#args.minSeconds, least)
    const fare: Fare = { id, minSeconds, turns: [], notBefore: now, isFree: false, urgent: null }
    for (const want of wants) {
      const queue = this.#queueOf(want.reseller)
      const score = scoreOf(want.weight, this.#factsOf(queue))
      const vdue = queue.v + this.#random.uniform() / score
      fare.turns.push({ fare, queue, want, score, vdue })
    }
    for (const turn of fare.turns) count(turn, 1)
    this.#fares.set(id, fare)
    this.#waiting.push(now, fare)
    this.#hasten(fare, isUrgent ? { lane: 'first_check', at: now } : null)
  }

  remove(id: number): void {
    const fare = this.#fareOf(id)
    for (const turn of fare.turns) count(turn, -1)
    Object.assign(fare, { isFree: false, notBefore: Number.NaN, urgent: null })
    this.#fares.delete(id)
  }

  /** Whose check is made with the next slot of the budget. Undefined if no fare may be checked. */
  claim(now: number): number | undefined {
    this.#credits.all = Math.min(2, this.#credits.all + ALL_LANES)
    for (const lane of FAST_LANES) {
      this.#credits[lane] = Math.min(2, this.#credits[lane] + LANE_SHARES[lane])
    }
    for (;;) {
      const fare = this.#waiting.first((one, key) => !one.isFree && one.notBefore === key)
      if (fare === undefined || fare.notBefore > now + NOTHING) break
      this.#waiting.pop()
      fare.isFree = true
      for (const turn of fare.turns) turn.queue.due.push(turn.vdue, turn)
    }
    return (this.#claimUrgent(now) ?? this.#claimTurn(now))?.id
  }

  /** Places a checked fare in all of its queues. */
  place(
    id: number,
    { now, scoreOf, urgent = null }: { now: number; scoreOf: ScoreOf; urgent?: Urgent | null },
  ): void {
    const fare = this.#fareOf(id)
    fare.notBefore = now + fare.minSeconds
    fare.isFree = false
    this.#waiting.push(fare.notBefore, fare)
    for (const turn of fare.turns) {
      const { queue, want } = turn
      const facts = this.#factsOf(queue)
      const score = scoreOf(want.weight, facts)
      queue.scores += score - turn.score
      turn.score = score
      const ahead =
        want.minSeconds > fare.minSeconds
          ? want.minSeconds * facts.speed
          : Math.min(fare.minSeconds * facts.speed, 1 / facts.meanScore)
      turn.vdue = queue.v + Math.max(1 / score, ahead)
    }
    this.#hasten(fare, this.#soonest(fare, now, urgent))
  }

  /** The largest of the scores; 0 where no reseller has its fares come forward. */
  mayGain(id: number): number {
    const { turns } = this.#fareOf(id)
    if (turns.every(({ queue, vdue }) => queue.credit < 1 || vdue <= queue.v)) return 0
    return Math.max(...turns.map(({ score }) => score))
  }

  /** Another fare of its route has changed. */
  bringForward(id: number): void {
    for (const turn of this.#fareOf(id).turns) {
      const { queue, fare } = turn
      if (turn.vdue <= queue.v) continue
      turn.vdue = queue.v
      queue.credit -= 1
      if (fare.isFree) queue.due.push(turn.vdue, turn)
    }
  }

  #claimUrgent(now: number): Fare | undefined {
    for (const [lane, waiting] of this.#urgent) {
      const isLimited = lane !== 'max_delay'
      if (isLimited && Math.min(this.#credits.all, this.#credits[lane]) < 1) continue
      const first = waiting.first(({ fare, urgent }) => fare.urgent === urgent)
      if (first === undefined || first.urgent.at > now) continue
      if (isLimited) {
        this.#credits.all -= 1
        this.#credits[lane] -= 1
      }
      const payers = this.#payersOf(first)
      const parts = payers.reduce((sum, { part }) => sum + part, 0)
      for (const { queue, part } of payers) this.#pay(queue, part / parts)
      return first.fare
    }
    return undefined
  }

  #claimTurn(now: number): Fare | undefined {
    const takers = this.#queues.filter(({ due }) => due.first(isDue) !== undefined)
    const [next] = shareTurns(withoutSavings(takers, this.#leastPass), 1).keys()
    if (next === undefined) return undefined
    const queue = this.#queueOf(next)
    const turn = queue.due.first(isDue)
    if (turn === undefined) return undefined
    this.#leastPass = Math.max(this.#leastPass, this.#pay(queue, 1))
    const seconds = now - queue.movedAt
    const moved = Math.max(0, turn.vdue - queue.v)
    if (seconds > 0) {
      queue.speed += (moved / seconds - queue.speed) * -Math.expm1(-seconds / SPEED_SECONDS)
      queue.movedAt = now
    }
    queue.v += moved
    queue.credit = Math.min(MOST_NEIGHBOURS, queue.credit + NEIGHBOUR_SHARE)
    return turn.fare
  }

  /** Returns the pass before. */
  #pay(queue: Queue, checks: number): number {
    const before = withoutSavings([queue], this.#leastPass)[0]?.pass ?? 0
    queue.pass = before + checks / queue.share
    return before
  }

  #hasten(fare: Fare, urgent: Urgent | null): void {
    fare.urgent = urgent
    if (urgent !== null) this.#urgent.get(urgent.lane)?.push(urgent.at, { fare, urgent })
  }

  #soonest({ turns, minSeconds }: Fare, now: number, urgent: Urgent | null): Urgent | null {
    const delays = turns.flatMap(({ queue, want: { maxSeconds } }) =>
      maxSeconds === null ? [] : maxSeconds / this.#factsOf(queue).kept,
    )
    const at = now + Math.max(minSeconds, Math.min(...delays))
    if (at === Number.POSITIVE_INFINITY || (urgent !== null && urgent.at < at)) return urgent
    return { lane: 'max_delay', at }
  }

  /** As QUEUES of src/schedule/queues.ts. */
  #factsOf({ share, speed, fares, scores, promised }: Queue) {
    const { requestsPerSecond, minSeconds } = this.#args
    const busy = this.#queues.filter((queue) => queue.fares > 0)
    const shares = busy.reduce((sum, queue) => sum + queue.share, 0) || share
    const part = (requestsPerSecond * share) / shares
    const alone = (part - Math.min(promised, MOST_PROMISED * part)) / Math.max(1e-6, scores)
    const most = scores > 0 ? fares / (scores * minSeconds) : Number.POSITIVE_INFINITY
    return {
      alone,
      speed: Math.min(Math.max(speed, alone), most),
      meanScore: scores / Math.max(1, fares),
      mostChanges: (MOST_CHANGES_A_DAY * part) / Math.max(1, fares),
      kept: promised > 0 ? Math.min(1, (MOST_PROMISED * part) / promised) : 1,
    }
  }

  /** As PAYERS of src/schedule/claim.ts. */
  #payersOf({ fare: { turns }, urgent: { lane } }: UrgentFare) {
    const asking =
      lane === 'max_delay' ? turns.filter(({ want }) => want.maxSeconds !== null) : turns
    const payers = lane === 'first_check' ? turns.slice(0, 1) : asking
    return payers.map((turn) => ({ queue: turn.queue, part: 1 / this.#ownSeconds(turn) }))
  }

  /** As OWN_SECONDS of src/schedule/queues.ts. */
  #ownSeconds({ queue, score, want: { minSeconds, maxSeconds } }: Turn): number {
    const { alone, kept } = this.#factsOf(queue)
    const most = maxSeconds === null ? Number.POSITIVE_INFINITY : maxSeconds / kept
    return Math.max(this.#args.minSeconds, minSeconds, Math.min(1 / (score * alone), most))
  }

  #queueOf(reseller: number): Queue {
    return known(this.#queues[reseller])
  }

  #fareOf(id: number): Fare {
    return known(this.#fares.get(id))
  }
}

function known<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('no such fare or reseller')
  return value
}

function count({ fare, queue, want, score }: Turn, sign: 1 | -1): void {
  queue.fares += sign
  queue.scores += sign * score
  if (want.maxSeconds !== null) queue.promised += sign / Math.max(want.maxSeconds, fare.minSeconds)
}

const isDue = (turn: Turn, key: number) => turn.fare.isFree && turn.vdue === key

/** A binary heap by key. What has moved is pushed once more; its former entry is dropped when it comes first. */
class Heap<T> {
  readonly #entries: { readonly key: number; readonly value: T }[] = []

  /** The first value that is where it belongs. */
  first(isCurrent: (value: T, key: number) => boolean): T | undefined {
    for (let [first] = this.#entries; first !== undefined; [first] = this.#entries) {
      if (isCurrent(first.value, first.key)) return first.value
      this.pop()
    }
    return undefined
  }

  push(key: number, value: T): void {
    const entries = this.#entries
    let at = entries.length
    while (at > 0) {
      const parent = entries[(at - 1) >> 1]
      if (parent === undefined || parent.key <= key) break
      entries[at] = parent
      at = (at - 1) >> 1
    }
    entries[at] = { key, value }
  }

  pop(): void {
    const entries = this.#entries
    const last = entries.pop()
    if (last === undefined || entries.length === 0) return
    let at = 0
    for (;;) {
      const [left, right] = [entries[2 * at + 1], entries[2 * at + 2]]
      const isRight = left !== undefined && right !== undefined && right.key < left.key
      const child = isRight ? right : left
      if (child === undefined || child.key >= last.key) break
      entries[at] = child
      at = 2 * at + (isRight ? 2 : 1)
    }
    entries[at] = last
  }
}
