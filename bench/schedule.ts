/**
 * Compares schedules of checks within one budget, by the delay from each true change to the check that detects it. The
 * policy is the code of production (src/schedule/policy); the world is generated from a seed before it. Every figure is
 * the mean over the seeds with its 95 % confidence interval, as a ratio to round robin.
 *
 *   npm run bench:schedule -- [fares] [seeds] [--plots]
 *
 * First come answers that are known: if one is wrong, the benchmark ends. --plots writes the plots of docs/plots.
 */
import { parseArgs } from 'node:util'
import { CONTENDERS, type Contender } from './schedule/contenders.ts'
import { writePlots } from './schedule/plots.ts'
import { delaysToAlone, sharedIntervals } from './schedule/several-resellers.ts'
import { type Outcome, simulate } from './schedule/simulate.ts'
import {
  fares,
  hashOf,
  nullWorld,
  stationary,
  type World,
  type WorldArgs,
} from './schedule/worlds.ts'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { plots: { type: 'boolean', default: false } },
})
const FARES = Number(positionals[0] ?? 10_000)
const SEEDS = Array.from({ length: Number(positionals[1] ?? 10) }, (_, i) => i + 1)
const NAMES = Object.keys(CONTENDERS) as Contender[]
/** Worlds without routes have no surprises and no lists. */
const WITHOUT_ROUTES = NAMES.filter((name) => !/lists|surprise|recency/.test(name))
/** Quantiles of Student's t for 95 %, by degrees of freedom. */
const T95 = [Number.NaN, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]

interface Interval {
  readonly mean: number
  readonly half: number
}

function intervalOf(samples: readonly number[]): Interval {
  const mean = samples.reduce((a, b) => a + b, 0) / samples.length
  const variance =
    samples.reduce((a, b) => a + (b - mean) ** 2, 0) / Math.max(1, samples.length - 1)
  const t = samples.length > 1 ? (T95[samples.length - 1] ?? 2) : 0
  return { mean, half: t * Math.sqrt(variance / samples.length) }
}

function show({ mean, half }: Interval): string {
  return `${mean.toFixed(3)} ±${half.toFixed(3)}`.padStart(14)
}

function assertKnown(what: string, found: number, known: number): void {
  const off = Math.abs(found / known - 1)
  console.log(`known answer: ${what} ${found.toFixed(3)}, should be ${known.toFixed(3)}`)
  if (off <= 0.02) return
  console.error(`${what} is off by ${(100 * off).toFixed(1)} %: the simulation is wrong`)
  process.exit(1)
}

/** Round robin waits half a round; the √ oracle gains what its law says of this world's own rates and weights. */
function checkKnownAnswers(): void {
  const world = stationary({ seed: 1, size: FARES, equalWeights: false })
  const run = (name: Contender) => simulate(world, CONTENDERS[name](world.requestsPerSecond))
  const robin = run('round robin').weighted
  assertKnown('delay of round robin, s', robin, FARES / 2 / world.requestsPerSecond)
  const worths = world.fares.map(({ weight, times }) => weight * times.length)
  const roots = world.fares.map(({ weight, truth }) =>
    Math.sqrt(weight * truth.available.changesPerDay),
  )
  const rootSum = roots.reduce((a, b) => a + b, 0)
  const spent = worths.reduce((sum, worth, i) => sum + worth / (roots[i] ?? 1), 0)
  const all = worths.reduce((a, b) => a + b, 0)
  assertKnown(
    '√ oracle / round robin',
    run('√ oracle').weighted / robin,
    (rootSum * spent) / (FARES * all),
  )
}

type Results = ReadonlyMap<Contender, readonly Outcome[]>

function compare(title: string, make: (args: WorldArgs) => World, equalWeights: boolean): Results {
  console.log(`\n${title}`)
  const names = make === fares ? NAMES : WITHOUT_ROUTES
  const results = new Map<Contender, Outcome[]>(names.map((name) => [name, []]))
  for (const seed of SEEDS) {
    const world = make({ seed, size: FARES, equalWeights })
    console.log(`  seed ${seed}: SHA-256 ${hashOf(world)}`)
    for (const name of names) {
      results.get(name)?.push(simulate(world, CONTENDERS[name](world.requestsPerSecond)))
    }
  }
  console.log(
    `${'to round robin'.padEnd(24)} weighted delay     unweighted     stale time  longest h  checks/min`,
  )
  for (const name of names) {
    const column = (pick: (outcome: Outcome) => number) =>
      show(ratio(results, [name, 'round robin'], pick))
    const outcomes = results.get(name) ?? []
    const longest = Math.max(...outcomes.map((outcome) => outcome.longest)) / 3_600
    const busiest = Math.max(...outcomes.map((outcome) => outcome.busiestMinute))
    const cells = [column((o) => o.weighted), column((o) => o.unweighted), column((o) => o.stale)]
    console.log(
      `${name.padEnd(24)} ${cells.join(' ')} ${longest.toFixed(1).padStart(10)} ${String(busiest).padStart(11)}`,
    )
  }
  return results
}

function ratio(
  results: Results,
  [name, base]: readonly [Contender, Contender],
  pick: (outcome: Outcome) => number = ({ weighted }) => weighted,
): Interval {
  const bases = results.get(base) ?? []
  return intervalOf((results.get(name) ?? []).map((o, i) => pick(o) / pick(bases[i] ?? o)))
}

function showGoal(what: string, found: Interval, most: number): void {
  const verdict = found.mean <= most ? 'met' : 'NOT MET'
  console.log(`${what.padEnd(52)} ${show(found)}  goal ${most.toFixed(2)}  ${verdict}`)
}

/** The longest interval of ours as a part of its bound, 6·N / (0.6·B). */
function boundOf(results: Results, requestsPerSecond: number): Interval {
  const bound = (6 * FARES) / (0.6 * requestsPerSecond)
  return intervalOf((results.get('ours') ?? []).map(({ longest }) => longest / bound))
}

/** What each of four resellers gets next to the others, in worlds of at most 1,000 fares and three seeds. */
function compareResellers(): void {
  const size = Math.min(FARES, 1_000)
  const found = SEEDS.slice(0, 3).map((seed) => delaysToAlone({ seed, size }))
  for (const i of found[0]?.keys() ?? []) {
    const ratios = intervalOf(found.map((delays) => delays[i] ?? Number.NaN))
    showGoal(`reseller ${i + 1} of 4 with shared fares: delay / alone`, ratios, 1.02)
  }
  const { shared, others } = sharedIntervals()
  showGoal('50 fares that another shares: interval / alone', intervalOf([shared / 16.667]), 0.92)
  showGoal('500 other fares of that other: interval / alone', intervalOf([others / 183.33]), 1.002)
}

checkKnownAnswers()
compareResellers()
const steady = compare('stationary', stationary, false)
const nothing = compare('null', nullWorld, true)
const market = compare('fares', fares, false)
const equal = compare('fares, all weights 1', fares, true)
console.log()
showGoal('stationary: ours / √ oracle', ratio(steady, ['ours', '√ oracle']), 1.04)
showGoal('null: ours / round robin', ratio(nothing, ['ours', 'round robin']), 1.03)
showGoal(
  'fares: without factors / √ oracle',
  ratio(market, ['ours without factors', '√ oracle']),
  1.06,
)
showGoal('fares: ours / √ oracle', ratio(market, ['ours', '√ oracle']), 1)
showGoal('fares: ours with lists / ours', ratio(market, ['ours with lists', 'ours']), 1)
showGoal('fares: ours / round robin', ratio(market, ['ours', 'round robin']), 0.5)
showGoal(
  'fares, all weights 1: ours with lists / round robin',
  ratio(equal, ['ours with lists', 'round robin']),
  0.75,
)
showGoal('fares: longest interval / bound', boundOf(market, FARES / 7_200), 1)
if (values.plots) writePlots(FARES)
