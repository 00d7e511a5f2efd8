import type { LoggedRequest, LogPage } from '../../src/sandbox/endpoints/request-log.ts'

/** Everything that a sandbox was asked, in order. */
export async function readSandboxLog(url: string): Promise<LoggedRequest[]> {
  const all: LoggedRequest[] = []
  for (let after = 0; ; ) {
    const response = await fetch(`${url}/sandbox/log?after=${after}`)
    const { entries, next } = (await response.json()) as LogPage
    if (entries.length === 0) return all
    all.push(...entries)
    after = next
  }
}

/** What a worker logged of the breakers, in milliseconds. */
export interface BreakerEvent {
  readonly endpoint: string
  readonly breaker: string
  readonly opened: boolean
  readonly atMs: number
}

/** Of all workers, in order. */
export function breakerEvents(logs: readonly string[]): BreakerEvent[] {
  const lines = logs.flatMap((log) => log.split('\n')).filter((line) => line.includes(' breaker '))
  return lines
    .map(
      (line) =>
        JSON.parse(line) as { time: string; msg: string; endpoint: string; breaker: string },
    )
    .map(({ time, msg, endpoint, breaker }) => {
      const opened = msg === 'upstream breaker opened'
      return { endpoint, breaker, opened, atMs: Date.parse(time) }
    })
    .toSorted((a, b) => a.atMs - b.atMs)
}

/**
 * By how many requests the fullest window of so many seconds is over what it may hold; not above 0 where none is.
 * @param times milliseconds, in order.
 * @param mayHold by the window's end, in milliseconds.
 */
export function worstExcess(
  times: readonly number[],
  seconds: number,
  mayHold: (endMs: number) => number,
): number {
  let from = 0
  return times.reduce((worst, to, at) => {
    while (to - (times[from] ?? to) > seconds * 1000) from += 1
    return Math.max(worst, at - from + 1 - mayHold(to))
  }, Number.NEGATIVE_INFINITY)
}

/** How many lie in each stretch of so many seconds. */
export function countsBy(
  times: readonly number[],
  { fromMs, toMs, seconds }: { fromMs: number; toMs: number; seconds: number },
): number[] {
  const stretches = Math.max(1, Math.ceil((toMs - fromMs) / (seconds * 1000)))
  const counts = Array.from({ length: stretches }, () => 0)
  for (const time of times) {
    const at = Math.floor((time - fromMs) / (seconds * 1000))
    if (at >= 0 && at < stretches) counts[at] = (counts[at] ?? 0) + 1
  }
  return counts
}

const PROBE_SECONDS = { base: 5, longest: 60 }

/**
 * How many probes an errors breaker may make in so many seconds: each waits twice as long as the last, up to a minute.
 * @example mostProbes(40) // 3: after 5, 15 and 35 seconds
 */
export function mostProbes(seconds: number): number {
  let [probes, at] = [0, 0]
  for (;;) {
    at += Math.min(PROBE_SECONDS.longest, PROBE_SECONDS.base * 2 ** probes)
    if (at > seconds) return probes
    probes += 1
  }
}
