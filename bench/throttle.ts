/**
 * Simulates how the rate falls and returns after 429 answers, with the production code and without a clock: against
 * upstreams with a quota that we do not know, and against 429s that have nothing to do with our rate.
 *
 *   node bench/throttle.ts [requests a second]
 */
import {
  acceptedIn,
  minuteQuotaOf,
  quotaOf,
  refusedIn,
  type SimulatedUpstream,
  secondsUntilFull,
  simulate,
  spuriousOf,
} from './throttle-simulation.ts'

const REQUESTS_PER_SECOND = Number(process.argv[2] ?? 10)
const SEEDS = Array.from({ length: 20 }, (_, seed) => seed + 1)
/** The minutes after the rate has found the quota. */
const LATER = { from: 300, to: 1_200 }

function percent(part: number): string {
  return `${(100 * part).toFixed(0)} %`
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

function printTable(headings: readonly string[], rows: readonly (readonly string[])[]): void {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  console.log([headings, headings.map(() => '---'), ...rows].map(line).join('\n'), '\n')
}

function quotaRow(name: string, part: number, upstream: SimulatedUpstream): string[] {
  const seconds = LATER.to
  const result = simulate(upstream, { requestsPerSecond: REQUESTS_PER_SECOND, seconds })
  const { from, to } = LATER
  const used = acceptedIn(result, from, to) / ((to - from) * part * REQUESTS_PER_SECOND)
  const refused = refusedIn(result, from, to) / ((to - from) / 60)
  return [name, percent(part), `${refusedIn(result, 0, 60)}`, refused.toFixed(1), percent(used)]
}

function printQuotas(): void {
  const rows = [0.05, 0.25, 0.5, 0.9].flatMap((part) => {
    const quota = part * REQUESTS_PER_SECOND
    return [
      quotaRow('a second, Retry-After 1 s', part, quotaOf(quota, 1_000)),
      quotaRow('a second, no Retry-After', part, quotaOf(quota, undefined)),
      quotaRow('a minute, Retry-After', part, minuteQuotaOf(60 * quota)),
    ]
  })
  const refused = ['refused in the first minute', 'refused a minute later']
  printTable(['hidden quota', 'of the budget', ...refused, 'quota used later'], rows)
}

function printBursts(): void {
  const rows = [0.01, 0.1, 0.3].flatMap((part) =>
    [10, 60, 300].flatMap((seconds) =>
      [1_000, undefined].map((retryAfterMs) => {
        const back = SEEDS.map((seed) => {
          const upstream = spuriousOf({ part, seconds, retryAfterMs, seed })
          const run = { requestsPerSecond: REQUESTS_PER_SECOND, seconds: seconds + 200 }
          return secondsUntilFull(simulate(upstream, run), seconds)
        })
        const wait = retryAfterMs === undefined ? 'none' : '1 s'
        const figures = [median(back), Math.max(...back)].map((value) => `${value} s`)
        return [percent(part), `${seconds} s`, wait, ...figures]
      }),
    ),
  )
  const back = ['whole budget back after, median', 'longest of 20 seeds']
  printTable(['refused at any rate', 'for', 'Retry-After', ...back], rows)
}

function printCurve(): void {
  const upstream = spuriousOf({ part: 0.1, seconds: 60, retryAfterMs: 1_000, seed: 1 })
  const result = simulate(upstream, { requestsPerSecond: REQUESTS_PER_SECOND, seconds: 110 })
  const seconds = [60, 65, 70, 75, 80, 85, 90, 95, 100]
  const after = seconds.map((second) => `${second - 60} s`)
  const shares = seconds.map((second) => percent(result[second]?.share ?? 0))
  printTable(
    ['after a burst of 10 % for 60 s', ...after],
    [['usable part of the budget', ...shares]],
  )
}

console.log(`budget: ${REQUESTS_PER_SECOND} requests a second\n`)
printQuotas()
printBursts()
printCurve()
