import {
  isPaused,
  LOWER_TO,
  shareAt,
  type Throttle,
  throttled,
} from '../src/upstream/budget/throttle.ts'

/** The answer of a simulated upstream to a call: accepted, or refused with or without a Retry-After. */
export type SimulatedAnswer = 'ok' | { readonly retryAfterMs: number | undefined }
/** Answers the call that is made at an instant. Calls come in order of time. */
export type SimulatedUpstream = (nowMs: number) => SimulatedAnswer

/** The calls of one second. */
export interface SimulatedSecond {
  accepted: number
  refused: number
  /** The part of the budget that may be used at its end. 0 during a pause. */
  share: number
}

/** How the usable part of the budget falls with a 429 and grows back. */
export interface ThrottleRule {
  share(throttle: Throttle, nowMs: number): number
  lowered(throttle: Throttle, refusal: Refusal, nowMs: number): Throttle
}

interface Refusal {
  readonly madeAtMs: number
  readonly retryAfterMs: number | undefined
}

/** The rule of the product. */
export const CUBIC: ThrottleRule = {
  share: shareAt,
  lowered: (throttle, refusal, nowMs) =>
    throttled(throttle, { ...refusal, lowersBudget: true }, nowMs),
}

function additiveShare({ share, recoversFromMs }: Throttle, nowMs: number): number {
  return Math.min(1, share + Math.max(0, nowMs - recoversFromMs) / 100_000)
}

/** The plain rule: 0.7 of the rate after a 429, then one hundredth of the budget for each second. Its pauses are the same. */
export const ADDITIVE: ThrottleRule = {
  share: additiveShare,
  lowered(throttle, refusal, nowMs) {
    const share = additiveShare(throttle, nowMs)
    const lowers = !isPaused(throttle, nowMs) && refusal.madeAtMs >= throttle.recoversFromMs
    const paused = throttled(throttle, { ...refusal, lowersBudget: false }, nowMs)
    return { ...paused, share: lowers ? Math.max(MIN_SHARE, share * LOWER_TO) : share }
  },
}

const MIN_SHARE = 0.01
const LATENCY_MS = 200
const UNTOUCHED: Throttle = { pausedUntilMs: 0, pausesInRow: 0, share: 1, recoversFromMs: 0 }
/** Instants begin here, because an instant of 0 stands for "never". */
const BEGIN_MS = 1_000_000

export interface SimulatedRun {
  readonly requestsPerSecond: number
  readonly seconds: number
  /** Default: the rule of the product. */
  readonly rule?: ThrottleRule
}

/** Calls an upstream as often as the throttle permits, and returns the calls of each second. */
export function simulate(
  upstream: SimulatedUpstream,
  { requestsPerSecond, seconds, rule = CUBIC }: SimulatedRun,
): SimulatedSecond[] {
  const result = Array.from({ length: seconds }, () => ({ accepted: 0, refused: 0, share: 0 }))
  const refusals: Refusal[] = []
  let throttle = UNTOUCHED
  for (let nowMs = BEGIN_MS, slotMs = BEGIN_MS; ; nowMs += 1) {
    const elapsedMs = nowMs - BEGIN_MS
    const second = result[Math.floor(elapsedMs / 1000)]
    if (second === undefined) return result
    const due = refusals[0]
    if (due !== undefined && due.madeAtMs + LATENCY_MS <= nowMs) {
      throttle = rule.lowered(throttle, due, nowMs)
      refusals.shift()
    }
    second.share = isPaused(throttle, nowMs) ? 0 : rule.share(throttle, nowMs)
    for (slotMs = Math.max(slotMs, nowMs); second.share > 0 && slotMs < nowMs + 1; ) {
      const answer = upstream(elapsedMs)
      if (answer === 'ok') second.accepted += 1
      else second.refused += 1
      if (answer !== 'ok') refusals.push({ madeAtMs: nowMs, ...answer })
      slotMs += 1000 / (requestsPerSecond * second.share)
    }
  }
}

/** A quota that grants `requestsPerSecond` and a burst of one second. */
export function quotaOf(
  requestsPerSecond: number,
  retryAfterMs: number | undefined,
): SimulatedUpstream {
  const burst = Math.max(1, requestsPerSecond)
  let tokens = burst
  let lastMs = 0
  return (nowMs) => {
    tokens = Math.min(burst, tokens + (requestsPerSecond * (nowMs - lastMs)) / 1000)
    lastMs = nowMs
    if (tokens < 1) return { retryAfterMs }
    tokens -= 1
    return 'ok'
  }
}

/** A quota of `requestsPerMinute` in each minute of the clock. `Retry-After` says when the next one begins. */
export function minuteQuotaOf(requestsPerMinute: number): SimulatedUpstream {
  let minute = -1
  let calls = 0
  return (nowMs) => {
    const current = Math.floor(nowMs / 60_000)
    if (current !== minute) calls = 0
    minute = current
    calls += 1
    return calls <= requestsPerMinute ? 'ok' : { retryAfterMs: 60_000 - (nowMs % 60_000) }
  }
}

/** Refuses a part of the calls for some seconds, whatever their rate. */
export function spuriousOf({
  part,
  seconds,
  retryAfterMs,
  seed,
}: {
  part: number
  seconds: number
  retryAfterMs: number | undefined
  seed: number
}): SimulatedUpstream {
  let state = seed
  return (nowMs) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return nowMs < seconds * 1000 && state / 2 ** 32 < part ? { retryAfterMs } : 'ok'
  }
}

/** How many whole seconds after `from` at least 95 % of the budget may be used again. */
export function secondsUntilFull(result: readonly SimulatedSecond[], from: number): number {
  return result.findIndex(({ share }, second) => second >= from && share >= 0.95) - from
}

export function refusedIn(result: readonly SimulatedSecond[], from: number, to: number): number {
  return result.slice(from, to).reduce((sum, { refused }) => sum + refused, 0)
}

export function acceptedIn(result: readonly SimulatedSecond[], from: number, to: number): number {
  return result.slice(from, to).reduce((sum, { accepted }) => sum + accepted, 0)
}
