import { RATED_STATES, type RatedState } from '../../src/base/kinds.ts'
import { MEMORY_DAYS } from '../../src/recheck/policy/estimator.ts'
import { learnCheck } from '../../src/recheck/policy/learn-check.ts'
import {
  changesPerDay,
  createRateModel,
  type FareMemory,
  NEW_FARE,
  type RateModel,
  surpriseAt,
} from '../../src/recheck/policy/rate-model.ts'
import { PULL_FACTOR, PULL_SHARE } from '../../src/recheck/policy/route-surprise.ts'
import { ALL_FACTORS, type Switches } from '../../src/recheck/policy/span-factors.ts'
import { type ScheduleSums, ticketOf } from '../../src/recheck/policy/ticket.ts'
import { IndexedHeap } from './indexed-heap.ts'
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
}

const MIN_INTERVAL = 60

/** The stride queue of the schedule, in memory: fares by virtual due time, and those inside their minimum interval. */
class StrideQueue {
  readonly #due = new IndexedHeap()
  readonly #waiting = new IndexedHeap()
  readonly #vdues: number[] = []
  readonly #tickets: number[] = []
  v = 0
  sum = 0
  size = 0

  add(id: number, ticket: number): void {
    this.#tickets[id] = ticket
    this.#vdues[id] = this.v
    this.sum += ticket
    this.size += 1
    this.#due.set(id, this.v)
  }

  remove(id: number): void {
    this.sum -= this.ticketOf(id)
    this.size -= 1
    this.#due.remove(id)
    this.#waiting.remove(id)
  }

  ticketOf(id: number): number {
    return this.#tickets[id] ?? 1
  }

  claim(now: number): number | undefined {
    for (
      let id = this.#waiting.first;
      id !== undefined && this.#waiting.keyOf(id) <= now;
      id = this.#waiting.first
    ) {
      this.#waiting.remove(id)
      this.#due.set(id, this.#vdues[id] ?? 0)
    }
    const id = this.#due.first
    if (id === undefined) return undefined
    this.#due.remove(id)
    const vdue = this.#vdues[id] ?? 0
    this.v = Math.max(this.v, vdue)
    this.#vdues[id] = vdue + 1 / this.ticketOf(id)
    return id
  }

  /** The ticket of a fare changes: its wait counts from where its last check was. */
  setTicket(id: number, ticket: number): void {
    const old = this.ticketOf(id)
    this.sum += ticket - old
    this.#tickets[id] = ticket
    this.#vdues[id] = (this.#vdues[id] ?? 0) + 1 / ticket - 1 / old
    if (this.#due.has(id)) this.#due.set(id, this.#vdues[id] ?? 0)
  }

  /** After a check the fare waits for its minimum interval, and is due no earlier than its end. */
  wait(id: number, now: number, requestsPerSecond: number): void {
    const earliest = this.v + (MIN_INTERVAL * requestsPerSecond) / Math.max(this.sum, 1e-9)
    this.#vdues[id] = Math.max(this.#vdues[id] ?? 0, earliest)
    this.#waiting.set(id, now + MIN_INTERVAL)
  }
}

type TicketRule = (fare: WorldFare, state: RatedState) => number

/** A schedule whose tickets follow from the fares alone. */
function fixedPolicy(name: string, requestsPerSecond: number, rule: TicketRule): Policy {
  const queue = new StrideQueue()
  const known = new Map<number, WorldFare>()
  return {
    name,
    add: (fare) => {
      known.set(fare.id, fare)
      queue.add(fare.id, rule(fare, 'available'))
    },
    remove: (id) => queue.remove(id),
    claim: (now) => queue.claim(now),
    report: (id, now, { state }) => {
      const fare = known.get(id)
      if (fare !== undefined) queue.setTicket(id, rule(fare, state))
      queue.wait(id, now, requestsPerSecond)
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

interface Learning {
  readonly requestsPerSecond: number
  readonly switches?: Switches
  /** Tickets in proportion to the worth, as feed readers poll. */
  readonly proportional?: boolean
}

interface Tracked {
  readonly fare: WorldFare
  memory: FareMemory
  /** The surprise of the route that its ticket includes. */
  surprise: number
}

/** The policy of production: its rate model and its tickets. */
export function learningPolicy(
  name: string,
  { requestsPerSecond, switches = ALL_FACTORS, proportional = false }: Learning,
): Policy {
  const model = createRateModel(switches)
  const queue = new StrideQueue()
  const tracked = new Map<number, Tracked>()
  const routes = new Map<string, Set<number>>()
  const pulls = { credit: 0 }
  let learnedAt = 0

  const ticketAt = ({ fare, memory }: Tracked, now: number): number => {
    const at = { at: now, route: fare.route }
    const worth = {
      weight: fare.weight,
      value: memory.values[memory.state ?? 'available'],
      changesPerDay: changesPerDay(model, memory, at),
    }
    if (proportional) return Math.max(1e-3, worth.weight * worth.value * worth.changesPerDay)
    const sums: ScheduleSums = { tickets: queue.sum, fares: queue.size, requestsPerSecond }
    return ticketOf(worth, sums)
  }

  return {
    name,
    add: (fare, now) => {
      const entry = { fare, memory: { ...NEW_FARE, departsAt: fare.departsAt }, surprise: 1 }
      tracked.set(fare.id, entry)
      if (fare.route !== null) routeSet(routes, fare.route).add(fare.id)
      queue.add(fare.id, ticketAt(entry, now))
    },
    remove: (id) => {
      queue.remove(id)
      const route = tracked.get(id)?.fare.route
      if (route != null) routes.get(route)?.delete(id)
      tracked.delete(id)
    },
    claim: (now) => {
      pulls.credit = Math.min(PULL_SHARE * requestsPerSecond * 3_600, pulls.credit + PULL_SHARE)
      return queue.claim(now)
    },
    report: (id, now, observation) => {
      const entry = tracked.get(id)
      if (entry === undefined) return
      const { fare } = entry
      const { route, departsAt } = fare
      forget(model, now - learnedAt)
      learnedAt = now
      entry.memory = learnCheck(model, entry.memory, { at: now, ...observation, route, departsAt })
      entry.surprise = surpriseAt(model, entry.memory, { at: now, route })
      queue.setTicket(id, ticketAt(entry, now))
      queue.wait(id, now, requestsPerSecond)
      if (!observation.changed || route === null) return
      pull(
        { model, queue, tracked, pulls },
        { route, siblings: routeSet(routes, route), now, except: id },
      )
    },
  }
}

/** What the database does in production when processes share what they learned. */
function forget({ all }: RateModel, elapsedSeconds: number): void {
  const kept = Math.exp(-elapsedSeconds / 86_400 / MEMORY_DAYS)
  for (const state of RATED_STATES) {
    const { changes, exposure } = all[state]
    all[state] = { changes: changes * kept, exposure: exposure * kept }
  }
}

function routeSet(routes: Map<string, Set<number>>, route: string): Set<number> {
  const known = routes.get(route) ?? new Set<number>()
  routes.set(route, known)
  return known
}

interface Pulling {
  readonly model: RateModel
  readonly queue: StrideQueue
  readonly tracked: ReadonlyMap<number, Tracked>
  readonly pulls: { credit: number }
}

/** Pulls the other fares of a route forward that surprises. */
function pull(
  { model, queue, tracked, pulls }: Pulling,
  {
    route,
    siblings,
    now,
    except,
  }: { route: string; siblings: ReadonlySet<number>; now: number; except: number },
): void {
  for (const id of siblings) {
    const sibling = tracked.get(id)
    if (sibling === undefined || id === except || sibling.memory.state === 'unavailable') continue
    const factor = surpriseAt(model, sibling.memory, { at: now, route })
    const ratio = factor / sibling.surprise
    if (ratio <= PULL_FACTOR || pulls.credit <= 0) continue
    pulls.credit -= 1 - 1 / Math.sqrt(ratio)
    sibling.surprise = factor
    queue.setTicket(id, queue.ticketOf(id) * Math.sqrt(ratio))
  }
}
