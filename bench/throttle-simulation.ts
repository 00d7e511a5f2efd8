/** Calls of an upstream with a quota that we do not know, without a clock, for test/upstream/throttle-simulation.test.ts. */
import { isPaused, shareAt, type Throttle, throttled } from '../src/upstream/budget/throttle.ts'

/** The answer of a simulated upstream to a call: accepted, or refused with or without a Retry-After. */
type SimulatedAnswer = 'ok' | { readonly retryAfterMs: number | undefined }
/** Answers the call that is made at an instant. Calls come in order of time. */
type SimulatedUpstream = (nowMs: number) => SimulatedAnswer

/** The calls of one second. */
interface SimulatedSecond {
  accepted: number
  refused: number
  /** The part of the budget that may be used at its end. 0 during a pause. */
  share: number
}

interface Refusal {
  readonly madeAtMs: number
  readonly retryAfterMs: number | undefined
}

const LATENCY_MS = 200
const UNTOUCHED: Throttle = { pausedUntilMs: 0, pausesInRow: 0, share: 1, recoversFromMs: 0 }
/** Instants begin here, because an instant of 0 stands for "never". */
const BEGIN_MS = 1_000_000

interface SimulatedRun {
  readonly requestsPerSecond: number
  readonly seconds: number
}

/** Calls an upstream as often as the throttle permits, and returns the calls of each second. */
export function simulate(
  upstream: SimulatedUpstream,
  { requestsPerSecond, seconds }: SimulatedRun,
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
      throttle = throttled(throttle, { ...due, lowersBudget: true }, nowMs)
      refusals.shift()
    }
    second.share = isPaused(throttle, nowMs) ? 0 : shareAt(throttle, nowMs)
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
