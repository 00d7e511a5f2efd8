import {
  type DueFare,
  dueAfterCheck,
  dueAtJoin,
  dueAtRate,
} from '../../src/schedule/policy/virtual-time.ts'
import { IndexedHeap } from './indexed-heap.ts'

/** When a check was made, and the shortest interval to the next one. Times are in seconds. */
export interface CheckTime {
  readonly now: number
  readonly shortestSeconds: number
}

/** The queue of the schedule in memory: fares by virtual due time, and those inside their shortest interval. */
export class VirtualQueue {
  readonly #due = new IndexedHeap()
  readonly #waiting = new IndexedHeap()
  readonly #fares = new Map<number, DueFare>()
  v = 0
  /** The budget divided by the sum of all rates: its owner keeps it up to date. */
  speed = 1
  /** The sum of all rates. */
  sum = 0

  rateOf(id: number): number | undefined {
    return this.#fares.get(id)?.rate
  }

  vdueOf(id: number): number | undefined {
    return this.#fares.get(id)?.vdue
  }

  join(id: number, rate: number, notBefore = 0): void {
    this.#put(id, { vdue: dueAtJoin({ fareId: id, rate }, this.v), rate })
    this.#waiting.set(id, notBefore)
  }

  remove(id: number): void {
    this.sum -= this.rateOf(id) ?? 0
    this.#fares.delete(id)
    this.#due.remove(id)
    this.#waiting.remove(id)
  }

  claim(now: number): number | undefined {
    for (let id = this.#waiting.first; id !== undefined; id = this.#waiting.first) {
      if (this.#waiting.keyOf(id) > now) break
      this.#waiting.remove(id)
      this.#due.set(id, this.vdueOf(id) ?? 0)
    }
    const id = this.#due.first
    if (id === undefined) return undefined
    this.#due.remove(id)
    this.v = Math.max(this.v, this.vdueOf(id) ?? 0)
    return id
  }

  /** After a check of the schedule, which was claimed. */
  complete(id: number, rate: number, { now, shortestSeconds }: CheckTime): void {
    const vdue = dueAfterCheck({ vdue: this.vdueOf(id) ?? 0, rate }, this, shortestSeconds)
    this.#put(id, { vdue, rate })
    this.#waiting.set(id, now + shortestSeconds)
  }

  /** After a check in a lane: the due time stays, but not inside the shortest interval. */
  completeInLane(id: number, rate: number, { now, shortestSeconds }: CheckTime): void {
    this.setRate(id, rate)
    const earliest = this.v + shortestSeconds * this.speed
    this.#put(id, { vdue: Math.max(this.vdueOf(id) ?? 0, earliest), rate })
    this.#due.remove(id)
    this.#waiting.set(id, now + shortestSeconds)
  }

  setRate(id: number, rate: number): void {
    const fare = this.#fares.get(id)
    if (fare !== undefined) this.#put(id, { vdue: dueAtRate(fare, rate, this.v), rate })
  }

  /** Leaves a part of its interval, counted from its last check. Returns the part of a check that this costs. */
  pull(id: number, left: number): number {
    const fare = this.#fares.get(id)
    if (fare === undefined || fare.vdue <= this.v) return 0
    const sooner = Math.min(fare.vdue - this.v, (1 - left) / fare.rate)
    this.#put(id, { ...fare, vdue: fare.vdue - sooner })
    return Math.min(1, sooner * fare.rate)
  }

  /** No fare outside its shortest interval is due later than one interval from now. */
  limit(): void {
    for (const id of this.#due.ids()) {
      const fare = this.#fares.get(id)
      if (fare === undefined || fare.vdue <= this.v + 1 / fare.rate) continue
      this.#put(id, { ...fare, vdue: this.v + 1 / fare.rate })
    }
  }

  #put(id: number, fare: DueFare): void {
    this.sum += fare.rate - (this.rateOf(id) ?? 0)
    this.#fares.set(id, fare)
    if (this.#due.has(id)) this.#due.set(id, fare.vdue)
  }
}
