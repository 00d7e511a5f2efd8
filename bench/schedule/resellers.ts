import { Lanes } from './lanes.ts'
import { type FareWorth, PacedQueue, type Want } from './paced-queue.ts'

/** A fare whose worth is known and does not change. */
export interface KnownFare {
  readonly id: number
  readonly wants: readonly Want[]
  readonly worth: FareWorth
}

export interface ResellersArgs {
  readonly requestsPerSecond: number
  readonly shares: readonly number[]
  /** Each so many scheduled checks of a fare one asks for a confirmation, and one fails and has a retry. */
  readonly confirmEvery?: number
  readonly retryEvery?: number
}

/** The intervals between the checks of a fare. */
export interface Intervals {
  readonly count: number
  readonly mean: number
  readonly longest: number
  /** Σ τ² / (2·Σ τ): the mean delay of changes that come at any moment. */
  readonly delay: number
}

const [CONFIRM_AFTER_SECONDS, RETRY_AFTER_SECONDS] = [20, 30]

/** The schedule of several resellers, one check at each slot of the budget. Times are in seconds. */
export class Resellers {
  readonly paced: PacedQueue
  readonly #lanes: Lanes
  readonly #args: ResellersArgs
  readonly #fares = new Map<number, KnownFare>()
  readonly #checks = new Map<number, number>()
  readonly #checkedAt = new Map<number, number>()
  readonly #sums = new Map<
    number,
    { count: number; sum: number; squares: number; longest: number }
  >()
  /** The slots that went by, and those that a check used. */
  slots = 0
  used = 0
  now = 0

  constructor(args: ResellersArgs) {
    this.#args = args
    this.paced = new PacedQueue(args.requestsPerSecond)
    this.#lanes = new Lanes(this.paced)
    for (const [reseller, share] of args.shares.entries()) this.paced.setShare(reseller, share)
  }

  add(fare: KnownFare): void {
    this.#fares.set(fare.id, fare)
    this.paced.add(fare.id, fare.wants, fare.worth)
    const reseller = fare.wants[0]?.reseller ?? null
    this.#lanes.request('new_watch', { fareId: fare.id, at: this.now, reseller })
  }

  remove(id: number): void {
    this.#fares.delete(id)
    this.paced.remove(id)
  }

  /** Forgets the intervals until now. The interval that is under way counts whole when it ends. */
  startCounting(): void {
    this.#sums.clear()
    this.slots = 0
    this.used = 0
  }

  intervalsOf(id: number): Intervals {
    const { count, sum, squares, longest } = this.#sums.get(id) ?? NO_INTERVALS
    return { count, mean: sum / count, longest, delay: squares / (2 * sum) }
  }

  checkedAtOf(id: number): number {
    return this.#checkedAt.get(id) ?? Number.NEGATIVE_INFINITY
  }

  /** @param requestsPerSecond the slots that the upstream grants; by default the budget. */
  run(seconds: number, requestsPerSecond: number = this.#args.requestsPerSecond): void {
    const from = this.now
    const slots = Math.floor(seconds * requestsPerSecond)
    for (let slot = 0; slot < slots; slot += 1) {
      this.now = from + slot / requestsPerSecond
      this.#lanes.addSlot()
      this.slots += 1
      if (this.#checkInLane(false) || this.#checkScheduled() || this.#checkInLane(true)) {
        this.used += 1
      }
    }
    this.now = from + seconds
  }

  #checkInLane(beyond: boolean): boolean {
    const request = this.#lanes.take(this.now, { beyond })
    if (request === undefined) return false
    this.#count(request.fareId)
    this.paced.complete(request.fareId, { now: this.now, inLane: true })
    return true
  }

  #checkScheduled(): boolean {
    const id = this.paced.claim(this.now)
    if (id === undefined) return false
    this.#count(id)
    this.paced.complete(id, { now: this.now })
    this.#follow(id)
    return true
  }

  /** Every so many checks of a fare ask for a confirmation, or fail. */
  #follow(id: number): void {
    const { confirmEvery, retryEvery } = this.#args
    const checks = (this.#checks.get(id) ?? id) + 1
    this.#checks.set(id, checks)
    const request = { fareId: id, reseller: null }
    if (confirmEvery !== undefined && checks % confirmEvery === 0) {
      this.#lanes.request('confirmation', { ...request, at: this.now + CONFIRM_AFTER_SECONDS })
    } else if (retryEvery !== undefined && checks % retryEvery === 1) {
      this.#lanes.request('retry', { ...request, at: this.now + RETRY_AFTER_SECONDS })
    }
  }

  #count(id: number): void {
    const before = this.#checkedAt.get(id)
    this.#checkedAt.set(id, this.now)
    if (before === undefined) return
    const seconds = this.now - before
    const { count, sum, squares, longest } = this.#sums.get(id) ?? NO_INTERVALS
    this.#sums.set(id, {
      count: count + 1,
      sum: sum + seconds,
      squares: squares + seconds ** 2,
      longest: Math.max(longest, seconds),
    })
  }
}

const NO_INTERVALS = { count: 0, sum: 0, squares: 0, longest: 0 }

/** The same reseller with its part of the budget as its whole budget. */
export function alone(
  args: ResellersArgs,
  fares: readonly KnownFare[],
  reseller: number,
): { readonly args: ResellersArgs; readonly fares: readonly KnownFare[] } {
  const shares = args.shares.reduce((a, b) => a + b, 0)
  const part = (args.shares[reseller] ?? 0) / shares
  const own = fares.flatMap((fare) => {
    const wants = fare.wants.filter((want) => want.reseller === reseller)
    return wants.length === 0 ? [] : [{ ...fare, wants }]
  })
  const others = args.shares.map((share, i) => (i === reseller ? share : 0))
  return {
    args: { ...args, shares: others, requestsPerSecond: part * args.requestsPerSecond },
    fares: own,
  }
}
