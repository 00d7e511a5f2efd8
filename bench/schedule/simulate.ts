import type { Policy } from './policies.ts'
import { REOPEN, SELL_OUT, VALUES, type World, type WorldFare } from './worlds.ts'

/** Sums over the true changes of a world. Times are in seconds. */
export interface Outcome {
  /** The mean delay, each change weighted by the weight of its fare and the value of its kind. */
  readonly weighted: number
  /** The mean delay, every change counted once. */
  readonly unweighted: number
}

/** A watched fare of the world, as far as its checks have seen it. */
interface Watched {
  readonly fare: WorldFare
  /** Its first true change that no check has seen. */
  next: number
  isOpen: boolean
}

interface Mean {
  sum: number
  count: number
}

/** Sums what the checks of a world show of its true changes. */
class Score {
  readonly #weighted: Mean = { sum: 0, count: 0 }
  readonly #plain: Mean = { sum: 0, count: 0 }
  readonly #from: number

  constructor({ countedFrom }: World) {
    this.#from = countedFrom
  }

  /** The delays of all changes that a check at `now` sees, or that a departure ends. */
  see(watched: Watched, now: number): { readonly changed: boolean; readonly value: number } {
    const { fare } = watched
    const wasOpen = watched.isOpen
    const first = fare.times[watched.next]
    if (first === undefined || first > now) return { changed: false, value: 0 }
    let prices = 0
    for (let at = first; at <= now; at = fare.times[watched.next] ?? Number.POSITIVE_INFINITY) {
      const kind = fare.kinds[watched.next] ?? 0
      watched.next += 1
      if (kind === SELL_OUT || kind === REOPEN) watched.isOpen = kind === REOPEN
      else prices += 1
      if (at >= this.#from) this.#count(fare, kind, now - at)
    }
    if (watched.isOpen === wasOpen) return { changed: prices > 0, value: prices > 0 ? 1 : 0 }
    return { changed: true, value: VALUES[watched.isOpen ? REOPEN : SELL_OUT] }
  }

  #count(fare: WorldFare, kind: number, delay: number): void {
    const worth = fare.weight * (VALUES[kind] ?? 1)
    add(this.#weighted, worth * delay, worth)
    add(this.#plain, delay, 1)
  }

  outcome(): Outcome {
    const mean = ({ sum, count }: Mean) => sum / count
    return { weighted: mean(this.#weighted), unweighted: mean(this.#plain) }
  }
}

function add(mean: Mean, sum: number, count: number): void {
  mean.sum += sum
  mean.count += count
}

/** Drives a policy through a world, one check at each slot of the budget. */
export function simulate(world: World, policy: Policy): Outcome {
  const score = new Score(world)
  const active = new Map<number, Watched>()
  const arrivals = world.fares.toSorted((a, b) => a.addedAt - b.addedAt)
  const departures = world.fares.toSorted((a, b) => a.departsAt - b.departsAt)
  let [arrived, departed] = [0, 0]

  const slots = Math.floor(world.endsAt * world.requestsPerSecond)
  for (let slot = 0; slot < slots; slot += 1) {
    const now = slot / world.requestsPerSecond
    for (
      let fare = departures[departed];
      fare && fare.departsAt <= now;
      fare = departures[departed]
    ) {
      departed += 1
      const watched = active.get(fare.id)
      if (watched === undefined) continue
      score.see(watched, fare.departsAt)
      active.delete(fare.id)
      policy.remove(fare)
    }
    for (let fare = arrivals[arrived]; fare && fare.addedAt <= now; fare = arrivals[arrived]) {
      arrived += 1
      if (fare.departsAt <= now) continue
      active.set(fare.id, { fare, next: 0, isOpen: true })
      policy.add(fare, now)
    }
    const id = policy.claim(now)
    const watched = id === undefined ? undefined : active.get(id)
    if (watched === undefined) continue
    const seen = score.see(watched, now)
    policy.report(watched.fare, now, {
      state: watched.isOpen ? 'available' : 'unavailable',
      ...seen,
    })
  }
  for (const watched of active.values()) score.see(watched, world.endsAt)
  return score.outcome()
}
