import type { LoggedRequest, LogPage } from '../../sandbox/operations/request-log.ts'

/** Every request that the sandbox received, in order. */
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

/** A log line about a circuit breaker that opened or closed. */
export interface BreakerEvent {
  readonly endpoint: string
  readonly breaker: string
  readonly opened: boolean
  readonly atMs: number
}

/** The breaker events in the logs of all workers, in order. */
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
 * By how many requests the worst window exceeds its limit. At most 0 if no window does.
 * @param times in milliseconds, in order.
 * @param seconds the length of a window.
 * @param limit of the window that ends at this time, in milliseconds.
 */
export function worstExcess(
  times: readonly number[],
  seconds: number,
  limit: (endMs: number) => number,
): number {
  let from = 0
  return times.reduce((worst, to, at) => {
    while (to - (times[from] ?? to) > seconds * 1000) from += 1
    return Math.max(worst, at - from + 1 - limit(to))
  }, Number.NEGATIVE_INFINITY)
}

/** Counts the times in each interval of this length. */
export function countsBy(
  times: readonly number[],
  { fromMs, toMs, seconds }: { fromMs: number; toMs: number; seconds: number },
): number[] {
  const intervals = Math.max(1, Math.ceil((toMs - fromMs) / (seconds * 1000)))
  const counts = Array.from({ length: intervals }, () => 0)
  for (const time of times) {
    const at = Math.floor((time - fromMs) / (seconds * 1000))
    if (at >= 0 && at < intervals) counts[at] = (counts[at] ?? 0) + 1
  }
  return counts
}

const PROBE_SECONDS = { base: 5, longest: 60 }

/**
 * How many probes an errors breaker may send within this time. Each waits twice as long as the last, up to a minute.
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
