/**
 * Compares schedules of checks within one budget, by the delay from each true change to the check that detects it. Ours
 * learns, scores and takes turns by the code of production (src/schedule); the world is generated from a seed before it.
 * Every figure is the mean over the seeds with its 95 % confidence interval, as a ratio to round robin.
 *
 *   npm run bench:schedule -- [fares] [seeds]
 *
 * First come answers that are known: if one is wrong, the benchmark ends. Then come resellers that share fares: no
 * interval should be longer than that of the reseller alone with its share.
 */
import { parseArgs } from 'node:util'
import { CONTENDERS, type Contender } from './schedule/policies.ts'
import { intervalsToAlone, randomWorld, sharedIntervals } from './schedule/several-resellers.ts'
import { type Outcome, simulate } from './schedule/simulate.ts'
import {
  fares,
  hashOf,
  nullWorld,
  stationary,
  type World,
  type WorldArgs,
} from './schedule/worlds.ts'

const { positionals } = parseArgs({ allowPositionals: true })
const FARES = Number(positionals[0] ?? 2_000)
const SEEDS = Array.from({ length: Number(positionals[1] ?? 3) }, (_, i) => i + 1)
const NAMES = Object.keys(CONTENDERS) as Contender[]
/** Worlds of resellers, and how often each of their fares is checked on average. */
const [WORLDS, ROUNDS] = [30, 100]
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
  const results = new Map<Contender, Outcome[]>(NAMES.map((name) => [name, []]))
  for (const seed of SEEDS) {
    const world = make({ seed, size: FARES, equalWeights })
    console.log(`  seed ${seed}: SHA-256 ${hashOf(world)}`)
    for (const name of NAMES) {
      results.get(name)?.push(simulate(world, CONTENDERS[name](world.requestsPerSecond)))
    }
  }
  console.log(`${'to round robin'.padEnd(24)} weighted delay     unweighted  longest h`)
  for (const name of NAMES) {
    const column = (pick: (outcome: Outcome) => number) =>
      show(ratio(results, [name, 'round robin'], pick))
    const outcomes = results.get(name) ?? []
    const longest = Math.max(...outcomes.map((outcome) => outcome.longest)) / 3_600
    const cells = [column((o) => o.weighted), column((o) => o.unweighted)]
    console.log(`${name.padEnd(24)} ${cells.join(' ')} ${longest.toFixed(1).padStart(10)}`)
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

/** What resellers get next to each other: the mean interval of each fare, by that of the reseller alone with its share. */
function compareResellers(): void {
  const ratios = Array.from({ length: WORLDS }, (_, i) => intervalsToAlone(randomWorld(i), ROUNDS))
  const all = ratios.flat().sort((a, b) => a - b)
  const at = (part: number) => intervalOf([all[Math.floor(part * (all.length - 1))] ?? Number.NaN])
  console.log(`\n${all.length} fares of ${WORLDS} random worlds: mean interval / interval alone`)
  showGoal('median', at(0.5), 1)
  showGoal('99th percentile', at(0.99), 1.01)
  showGoal('worst', at(1), 1.06)
  const { shared, others } = sharedIntervals()
  showGoal('50 fares that another shares: interval / alone', intervalOf([shared / 16.667]), 1.01)
  showGoal('500 other fares of that other: interval / alone', intervalOf([others / 183.33]), 0.92)
}

checkKnownAnswers()
compareResellers()
const steady = compare('stationary', stationary, false)
const nothing = compare('null', nullWorld, true)
const market = compare('fares', fares, false)
const equal = compare('fares, all weights 1', fares, true)
console.log()
showGoal('stationary: ours / √ oracle', ratio(steady, ['ours', '√ oracle']), 1.06)
showGoal('null: ours / round robin', ratio(nothing, ['ours', 'round robin']), 1.02)
showGoal('fares: ours / √ oracle', ratio(market, ['ours', '√ oracle']), 1)
showGoal('fares: ours / round robin', ratio(market, ['ours', 'round robin']), 0.42)
showGoal('fares, all weights 1: ours / round robin', ratio(equal, ['ours', 'round robin']), 0.86)
