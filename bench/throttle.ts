/**
 * Simulates how the rate falls and returns after 429 answers, with the production code and without a clock: against
 * upstreams with a quota that we do not know, and against 429s that have nothing to do with our rate.
 *
 *   node bench/throttle.ts [requests a second]
 */
import {
  ADDITIVE,
  acceptedIn,
  CUBIC,
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

const RULES = [CUBIC, ADDITIVE] as const
const ALL_SECONDS = 1_200

/** The calls that got through, of both rules, against the same upstreams. */
function comparedRow(name: string, seconds: number, upstreams: () => SimulatedUpstream[]) {
  const runs = RULES.map((rule) =>
    upstreams().map((upstream) =>
      simulate(upstream, { requestsPerSecond: REQUESTS_PER_SECOND, seconds, rule }),
    ),
  )
  const [cubic = 0, additive = 0] = runs.map((results) =>
    results.reduce((sum, result) => sum + acceptedIn(result, 0, seconds), 0),
  )
  return { name, cubic, additive, ratio: additive / cubic, runs }
}

/** Whether a plain additive rule would do: the ratio of the calls that got through. */
function printComparison(): void {
  const quotas = [0.05, 0.25, 0.5, 0.9].flatMap((part) => {
    const quota = part * REQUESTS_PER_SECOND
    const row = (name: string, upstream: () => SimulatedUpstream) =>
      comparedRow(`quota of ${percent(part)}, ${name}`, ALL_SECONDS, () => [upstream()])
    return [
      row('a second, Retry-After 1 s', () => quotaOf(quota, 1_000)),
      row('a second, no Retry-After', () => quotaOf(quota, undefined)),
      row('a minute, Retry-After', () => minuteQuotaOf(60 * quota)),
    ]
  })
  const back: number[][] = [[], []]
  const bursts = [0.01, 0.1, 0.3].flatMap((part) =>
    [10, 60, 300].flatMap((seconds) =>
      [1_000, undefined].map((retryAfterMs) => {
        const name = `burst of ${percent(part)} for ${seconds} s, Retry-After ${retryAfterMs ?? 'none'}`
        const row = comparedRow(name, seconds + 200, () =>
          SEEDS.map((seed) => spuriousOf({ part, seconds, retryAfterMs, seed })),
        )
        for (const [i, results] of row.runs.entries())
          back[i]?.push(...results.map((result) => secondsUntilFull(result, seconds)))
        return row
      }),
    ),
  )
  const rows = [...quotas, ...bursts]
  printTable(
    ['calls that got through', 'cubic', 'additive', 'additive / cubic'],
    rows.map((row) => [row.name, `${row.cubic}`, `${row.additive}`, row.ratio.toFixed(3)]),
  )
  const mean = Math.exp(rows.reduce((sum, { ratio }) => sum + Math.log(ratio), 0) / rows.length)
  const worst = Math.min(...rows.map(({ ratio }) => ratio))
  console.log(`additive / cubic: geometric mean ${mean.toFixed(3)}, worst ${worst.toFixed(3)}`)
  const longest = back.map((waits) => `${Math.max(...waits)} s`).join(' and ')
  console.log(`longest time until the whole budget is back, cubic and additive: ${longest}\n`)
}

console.log(`budget: ${REQUESTS_PER_SECOND} requests a second\n`)
printQuotas()
printBursts()
printCurve()
printComparison()
