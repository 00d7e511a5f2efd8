import type { RatedState } from '../../src/platform/base/kinds.ts'
import {
  type AllFares,
  changesPerDay,
  type FareMemory,
  learn,
  MEMORY_SECONDS,
  NEW_FARE,
  NOTHING_KNOWN,
  type RateEstimate,
  sumLessons,
} from '../../src/schedule/score.ts'
import { type ScoreOf, Turns } from './turns.ts'
import type { WorldFare } from './worlds.ts'

/** What one check showed. */
interface Observation {
  readonly state: RatedState
  readonly changed: boolean
  readonly value: number
}

/** A schedule of checks, as the simulation drives it. Times are in seconds. */
export interface Policy {
  readonly add: (fare: WorldFare, now: number) => void
  readonly remove: (fare: WorldFare) => void
  readonly claim: (now: number) => number | undefined
  readonly report: (fare: WorldFare, now: number, observation: Observation) => void
}

/** The policies that the benchmark compares, by name. Each call makes one that has learned nothing. */
export const CONTENDERS = {
  'round robin': fixed(() => 1),
  // Knows the true rates, except what changes with time.
  '√ oracle': fixed(({ weight, truth }, state) =>
    Math.max(1e-6, Math.sqrt(weight * truth[state].value * truth[state].changesPerDay)),
  ),
  ours: learning,
} as const satisfies Readonly<Record<string, (requestsPerSecond: number) => Policy>>

export type Contender = keyof typeof CONTENDERS

function openTurns(requestsPerSecond: number): Turns {
  return new Turns({ requestsPerSecond, shares: [1], minSeconds: 60 })
}

function wantsOf({ weight }: WorldFare) {
  return [{ reseller: 0, weight, minSeconds: 0, maxSeconds: null }]
}

/** A schedule whose scores follow from the fares alone. */
function fixed(rule: (fare: WorldFare, state: RatedState) => number) {
  return (requestsPerSecond: number): Policy => {
    const turns = openTurns(requestsPerSecond)
    const scoreOf = (fare: WorldFare, state: RatedState) => () => rule(fare, state)
    return {
      add: (fare, now) => {
        const joining = { now, scoreOf: scoreOf(fare, 'available'), isUrgent: false }
        turns.add(fare.id, wantsOf(fare), joining)
      },
      remove: ({ id }) => turns.remove(id),
      claim: (now) => turns.claim(now),
      report: (fare, now, { state }) =>
        turns.place(fare.id, { now, scoreOf: scoreOf(fare, state) }),
    }
  }
}

/** As in queues.ts of src/schedule. */
const LEAST_OF_MEAN = 0.2
const [NEIGHBOURS, UNCHECKED_SECONDS] = [4, 900]

/** The policy of production. */
function learning(requestsPerSecond: number): Policy {
  const turns = openTurns(requestsPerSecond)
  const memories = new Map<number, FareMemory>()
  const routes = new Map<string, Set<number>>()
  /** The fares that came forward, until their next checks. */
  const moved = new Set<number>()
  let all = NOTHING_KNOWN
  let learnedAt = 0
  const allAt = (now: number) => decayed(all, now - learnedAt)
  const memoryOf = (id: number) => memories.get(id) ?? NEW_FARE

  const bringNeighbours = (route: string, now: number) => {
    const found = [...(routes.get(route) ?? [])].flatMap((id) => {
      const seconds = now - (memoryOf(id).countedAt ?? Number.NEGATIVE_INFINITY)
      const gain = turns.mayGain(id) * seconds
      return gain > 0 && seconds > UNCHECKED_SECONDS && !moved.has(id) ? [{ id, gain }] : []
    })
    for (const { id } of found.sort((a, b) => b.gain - a.gain).slice(0, NEIGHBOURS)) {
      moved.add(id)
      turns.bringForward(id)
    }
  }
  return {
    add: (fare, now) => {
      routes.set(fare.route, (routes.get(fare.route) ?? new Set()).add(fare.id))
      const scoreOf = scoreBy(allAt(now), NEW_FARE, now)
      turns.add(fare.id, wantsOf(fare), { now, scoreOf, isUrgent: true })
    },
    remove: ({ id, route }) => {
      for (const known of [routes.get(route), memories, moved]) known?.delete(id)
      turns.remove(id)
    },
    claim: (now) => turns.claim(now),
    report: ({ id, route }, now, observation) => {
      const before = allAt(now)
      const { memory, lesson } = learn(before, memoryOf(id), { at: now, ...observation })
      memories.set(id, memory)
      moved.delete(id)
      turns.place(id, { now, scoreOf: scoreBy(before, memory, now) })
      all = sumLessons([before, lesson])
      learnedAt = now
      if (observation.changed) bringNeighbours(route, now)
    },
  }
}

/** As scoreOf of src/schedule/queues.ts. */
function scoreBy(all: AllFares, memory: FareMemory, now: number): ScoreOf {
  const changes = changesPerDay(all, memory, now)
  const value = memory.values[memory.state ?? 'available']
  return (weight, { meanScore, mostChanges }) => {
    const score = Math.sqrt(weight * value * Math.min(changes, mostChanges))
    return Math.max(1e-6, LEAST_OF_MEAN * meanScore, score)
  }
}

/** What the database does with the sums of all fares. */
function decayed({ rates, soon }: AllFares, seconds: number): AllFares {
  const kept = Math.exp(-seconds / MEMORY_SECONDS)
  const part = ({ changes, exposure }: RateEstimate) => {
    return { changes: changes * kept, exposure: exposure * kept }
  }
  return {
    rates: { available: part(rates.available), unavailable: part(rates.unavailable) },
    soon: { found: soon.found * kept, expected: soon.expected * kept },
  }
}
