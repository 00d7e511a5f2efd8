/**
 * Compares schedules of checks within one budget, by the delay from each true change to the check that detects it. Ours
 * learns, scores and takes turns by the code of production (src/schedule); the world is generated from a seed before it.
 * Every figure is the mean over the seeds with its 95 % confidence interval, as a ratio to round robin.
 *
 *   npm run bench:schedule -- [fares] [seeds]
 *
 * Then come resellers that share fares: no interval should be longer than that of the reseller alone with its share.
 */
import { numbers, printHead, printRow, quantile } from './harness.ts'
import { CONTENDERS } from './schedule/policies.ts'
import { intervalsToAlone, randomWorld } from './schedule/several-resellers.ts'
import { type Outcome, simulate } from './schedule/simulate.ts'
import { fares } from './schedule/worlds.ts'

const [FARES, SEEDS] = numbers(2_000, 3)
/** Worlds of resellers, and how often each of their fares is checked on average. */
const [WORLDS, ROUNDS] = [30, 100]
/** Quantiles of Student's t for 95 %, by degrees of freedom. */
const T95 = [0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]

/** The mean and its confidence interval. */
function show(samples: readonly number[]): string {
  const { length } = samples
  const mean = samples.reduce((a, b) => a + b, 0) / length
  const squares = samples.reduce((a, b) => a + (b - mean) ** 2, 0)
  const half = (T95[length - 1] ?? 2) * Math.sqrt(squares / Math.max(1, length - 1) / length)
  return `${mean.toFixed(3)} ± ${half.toFixed(3)}`
}

printHead(`${FARES} fares, ${SEEDS} seeds, delays to round robin`, [
  'schedule',
  'weighted',
  'unweighted',
])
for (const equalWeights of [false, true]) {
  const worlds = Array.from({ length: SEEDS }, (_, i) =>
    fares({ seed: i + 1, size: FARES, equalWeights }),
  )
  let robin: Outcome[] | undefined
  for (const [name, open] of Object.entries(CONTENDERS)) {
    const outcomes = worlds.map((world) => simulate(world, open(world.requestsPerSecond)))
    robin ??= outcomes
    const to = (of: 'weighted' | 'unweighted') =>
      show(outcomes.map((outcome, i) => outcome[of] / (robin?.[i]?.[of] ?? 0)))
    const weights = equalWeights ? ', weights of 1' : ''
    printRow([`${name}${weights}`, to('weighted'), to('unweighted')])
  }
}

const ratios = Array.from({ length: WORLDS }, (_, i) =>
  intervalsToAlone(randomWorld(i), ROUNDS),
).flat()
const columns = ['median (goal 1)', 'p99 (1.01)', 'most (1.06)']
printHead(`${WORLDS} worlds of resellers, mean interval of a fare to that alone`, columns)
printRow([0.5, 0.99, 1].map((part) => quantile(ratios, part).toFixed(3)))
