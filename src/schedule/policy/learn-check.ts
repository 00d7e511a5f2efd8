import { RATED_STATES, type RatedState } from '../../platform/base/kinds.ts'
import {
  factorOf,
  learnFactor,
  NO_CHANGES,
  type Segment,
  SURPRISE_SECONDS,
  segmentsOf,
  surpriseBucket,
  withRouteCheck,
} from './factors.ts'
import { withEvent } from './pace.ts'
import {
  expectedChanges,
  type FareMemory,
  MEMORY_DAYS,
  NO_EXPOSURE,
  observeInterval,
  priorOf,
  type RateEstimate,
  type RateModel,
  type RouteMemory,
  rateOf,
  surpriseAt,
  surpriseTableOf,
} from './rate-model.ts'

/** One counted check: it showed the state of every leg, or confirmed a change. */
interface RatedCheck {
  readonly at: number
  readonly state: RatedState
  readonly changed: boolean
  /** The value of the changes that it found. */
  readonly value: number
  /** The route of the fare; null where it is unknown. */
  readonly route: string | null
}

/**
 * Records a counted check: the fare's own memory is returned, and the model learns from it. The exposure belongs to the
 * state at the start of the interval. The first check of a fare shows its state only.
 */
export function learnCheck(model: RateModel, memory: FareMemory, check: RatedCheck): FareMemory {
  const { at, changed } = check
  const next = {
    ...memory,
    state: check.state,
    countedAt: at,
    changedAt: changed ? at : memory.changedAt,
  }
  const { state, countedAt } = memory
  if (state === null || countedAt === null || at <= countedAt) return next

  const prior = priorOf(model, state, check.route)
  const rate = rateOf(memory.rates[state], prior)
  const segments = segmentsOf(memory.changedAt, { from: countedAt, to: at })
  const factors = segments.map(({ bucket }) =>
    model.switches.recency ? factorOf(model.recency[state], bucket) : 1,
  )
  const spanDays = segments.reduce((sum, { days }, i) => sum + days * (factors[i] ?? 1), 0)
  if (spanDays === 0) return next
  const surprise = surpriseAt(model, memory, check)
  // A surprise is as old as its route's memory at most: the rest of the interval was ordinary.
  const surprised = Math.min(1, SURPRISE_SECONDS / (at - countedAt))
  const exposure = spanDays * (1 + (surprise - 1) * surprised)

  const elapsedDays = (at - countedAt) / 86_400
  // A change during a surprise is the fare's own with the probability that its own rate has in the whole rate.
  const change = changed ? spanDays / exposure : 0
  const interval = { change, exposure: spanDays, elapsedDays, rate }
  const rates = { ...memory.rates, [state]: observeInterval(memory.rates[state], interval) }
  learn(model, { memory, check, state, rate, segments, factors, spanDays, exposure })
  const values = changed
    ? { ...memory.values, [state]: withEvent(memory.values[state], check.value) }
    : memory.values
  return { ...next, rates, values }
}

interface Lesson {
  readonly memory: FareMemory
  readonly check: RatedCheck
  readonly state: RatedState
  readonly rate: number
  readonly segments: readonly Segment[]
  readonly factors: readonly number[]
  readonly spanDays: number
  readonly exposure: number
}

function learn(model: RateModel, lesson: Lesson): void {
  const { check, state, rate, exposure } = lesson
  const observed = check.changed ? expectedChanges(rate * exposure) : 0
  learnRecency(model, lesson, observed)
  model.all[state] = added(model.all[state], 0, { observed, exposure })
  if (check.route !== null) learnRoute(model, lesson, check.route, observed)
}

function added(
  { changes, exposure }: RateEstimate,
  elapsedSeconds: number,
  more: { readonly observed: number; readonly exposure: number },
): RateEstimate {
  const kept = Math.exp(-Math.max(0, elapsedSeconds) / 86_400 / MEMORY_DAYS)
  return { changes: changes * kept + more.observed, exposure: exposure * kept + more.exposure }
}

/** The observed changes are divided among the segments of the interval as they were expected. */
function learnRecency(
  { recency, switches }: RateModel,
  { state, rate, segments, factors, spanDays, exposure }: Lesson,
  observed: number,
): void {
  if (!switches.recency) return
  for (const [i, { days, bucket }] of segments.entries()) {
    const expected = (rate * days * exposure) / spanDays
    const part = (observed * days * (factors[i] ?? 1)) / spanDays
    learnFactor(recency[state], bucket, { expected, observed: part })
  }
}

function learnRoute(
  model: RateModel,
  { memory: fare, check, state, rate, spanDays, exposure }: Lesson,
  route: string,
  observed: number,
): void {
  const memory = routeMemory(model, route)
  const { at, changed } = check
  const ordinary = -Math.expm1(-rate * spanDays)
  const bucket = surpriseBucket(memory.changes, at)
  learnFactor(surpriseTableOf(model, fare, at), bucket, {
    expected: ordinary,
    observed: changed ? 1 : 0,
  })
  const elapsed = at - memory.changes.at
  for (const rated of RATED_STATES) {
    const more = rated === state ? { observed, exposure } : { observed: 0, exposure: 0 }
    memory.rates[rated] = added(memory.rates[rated], elapsed, more)
  }
  memory.changes = withRouteCheck(memory.changes, { at, changed, expected: ordinary })
}

function routeMemory({ routes }: RateModel, route: string): RouteMemory {
  const known = routes.get(route)
  if (known !== undefined) return known
  const memory: RouteMemory = {
    rates: { available: NO_EXPOSURE, unavailable: NO_EXPOSURE },
    changes: NO_CHANGES,
  }
  routes.set(route, memory)
  return memory
}
