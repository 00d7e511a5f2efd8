import { chargesOf } from '../../src/schedule/claim.ts'
import type { PacedQueue } from './paced-queue.ts'

export interface LaneRequest {
  readonly fareId: number
  readonly at: number
  /** The reseller that causes it; null: all of the fare's. */
  readonly reseller: number | null
}

const LANES = ['confirmation', 'new_watch', 'retry'] as const
export type Lane = (typeof LANES)[number]

/** The parts of the budget that a lane may take, and all of them together. */
const LANE_SHARES: Readonly<Record<Lane, number>> = { confirmation: 1, new_watch: 0.2, retry: 0.1 }
const ALL_LANES = 0.4

/** The checks in lanes, as the claim of production takes them: within the shares of the lanes, and of each reseller. */
export class Lanes {
  readonly #waiting: Record<Lane, LaneRequest[]> = { confirmation: [], new_watch: [], retry: [] }
  readonly #credits: Record<Lane, number> = { confirmation: 0, new_watch: 0, retry: 0 }
  readonly #paced: PacedQueue
  #credit = 0

  constructor(paced: PacedQueue) {
    this.#paced = paced
  }

  request(lane: Lane, request: LaneRequest): void {
    this.#waiting[lane].push(request)
  }

  /** A slot of the budget goes by. */
  addSlot(): void {
    this.#credit = Math.min(2, this.#credit + ALL_LANES)
    for (const lane of LANES) {
      this.#credits[lane] = Math.min(2, this.#credits[lane] + LANE_SHARES[lane])
    }
  }

  /** The next check in a lane. What resellers want beyond their part comes after the schedule: then `beyond` is set. */
  take(now: number, { beyond }: { readonly beyond: boolean }): LaneRequest | undefined {
    if (this.#credit < 1) return undefined
    for (const lane of LANES) {
      if (this.#credits[lane] < 1) continue
      const place = this.#placeOf(lane, now, beyond)
      const [request] = place < 0 ? [] : this.#waiting[lane].splice(place, 1)
      if (request === undefined) continue
      this.#credit -= 1
      this.#credits[lane] -= 1
      this.#charge(request, now)
      return request
    }
    return undefined
  }

  #placeOf(lane: Lane, now: number, beyond: boolean): number {
    const over = new Map<number, boolean>()
    const isOver = (reseller: number | null) => {
      if (lane !== 'new_watch' || reseller === null) return false
      const known = over.get(reseller) ?? this.#paced.isOverInLanes(reseller, now)
      over.set(reseller, known)
      return known
    }
    return this.#waiting[lane].findIndex(
      ({ at, reseller }) => at <= now && isOver(reseller) === beyond,
    )
  }

  #charge({ fareId, reseller }: LaneRequest, now: number): void {
    const resellers = this.#paced.resellersOf(fareId)
    const rates = this.#paced.ratesOf(fareId)
    for (const [id, checks] of chargesOf([{ laneReseller: reseller, resellers, rates }])) {
      this.#paced.charge(id, checks, now)
    }
  }
}
