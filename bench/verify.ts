/**
 * Measures what a check costs: a worker process at rising budgets, on both backends of the queue. The floor is a bare undici
 * loop at the same rate that keeps nothing, and one transaction a second that records a row for each call
 * (bench/paced-floor.ts). The rival is a job and a transaction a fare. The upstream runs in a process of its own.
 *
 * A worker never exceeds its budget, so the budget rises until less than 0.9 of it is used.
 *
 *   npm run bench:verify -- [fares] [seconds a step]
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type Checks, openChecks, runWorkers, type Used, warmUpSeconds } from './checks.ts'
import {
  measured,
  numbers,
  openBenchApp,
  printHead,
  printRow,
  type Redis,
  startFile,
  startRedis,
} from './harness.ts'
import { jobPerFare } from './verify-rivals.ts'

const [FARES, SECONDS] = numbers(40_000, 10)
const BUDGETS = [5, 20, 1_000, 2_000, 4_000, 8_000, 10_000]

type Cost = Omit<Used, 'firstRate' | 'wal'> & { readonly wal?: number }

const cpuOf = ({ workers, postgres, redis }: Cost) => workers + postgres + redis

/** @param floor the CPU seconds of a thousand calls, and the rate of a job a fare */
function print(
  [queue, name]: readonly [string, string],
  cost: Cost,
  { cpu, rate }: { readonly cpu?: number; readonly rate?: number } = {},
): void {
  const per1000 = (cores: number) => (1_000 * cores) / cost.rate
  printRow([
    queue,
    name,
    cost.rate,
    rate === undefined ? '' : cost.rate / rate,
    ...[cost.workers, cost.postgres, cost.redis].map(per1000),
    cpu === undefined ? '' : per1000(cpuOf(cost)) / cpu,
    cost.wal === undefined ? '' : cost.wal / cost.rate,
  ])
}

/** The cores that the bare calls and their rows take. */
async function runFloor({ postgres, settings }: Checks, budget: number): Promise<Cost> {
  const args = [settings.UPSTREAM_BASE_URL, postgres.url, String(budget)]
  const { child } = await startFile('paced-floor.ts', args)
  await delay(warmUpSeconds(SECONDS) * 1_000)
  const pids = [child.pid ?? 0, postgres.pid]
  const { cpu } = await measured(pids, () => delay(SECONDS * 1_000))
  child.disconnect()
  const [workers = 0, server = 0] = cpu.map((one) => one / SECONDS)
  return { rate: budget, workers, postgres: server, redis: 0 }
}

async function runRival({ postgres, settings }: Checks, redis: Redis | undefined): Promise<Cost> {
  const app = openBenchApp({ ...settings, ...(redis && { REDIS_URL: redis.url }) })
  let cpu: number[] = []
  const checks = await jobPerFare(app, async () => {
    const pids = [process.pid, postgres.pid, redis?.pid ?? 0]
    ;({ cpu } = await measured(pids, () => delay(SECONDS * 1_000)))
  })
  await app.close()
  const [workers = 0, server = 0, store = 0] = cpu.map((one) => one / SECONDS)
  return { rate: checks / SECONDS, workers, postgres: server, redis: store }
}

async function measureQueue(checks: Checks, redis: Redis | undefined): Promise<void> {
  const queue = redis === undefined ? 'PostgreSQL' : 'Redis'
  const rival = await runRival(checks, redis)
  print([queue, 'a job a fare'], rival)
  for (const budget of BUDGETS) {
    const floor = await runFloor(checks, budget)
    print([queue, `floor of ${budget}`], floor)
    const used = await runWorkers(checks, { budget, workers: 1, redis, seconds: SECONDS })
    const cpu = (1_000 * cpuOf(floor)) / budget
    print([queue, `budget ${budget}`], used, { cpu, rate: rival.rate })
    if (used.rate < 0.9 * budget) break
  }
  const idle = await runWorkers(checks, { budget: undefined, workers: 1, redis, seconds: SECONDS })
  if (idle.rate > 0) throw new Error(`${idle.rate} checks a second while idle`)
  const [workers, server, wal] = [idle.workers, idle.postgres, idle.wal].map((one) => 60 * one)
  printRow([
    queue,
    'idle, a minute',
    '',
    '',
    workers ?? 0,
    server ?? 0,
    60 * idle.redis,
    '',
    wal ?? 0,
  ])
}

const redis = await startRedis()
const checks = await openChecks(FARES)
try {
  printHead(`${FARES} fares, ${SECONDS} s a step`, [
    'queue',
    'step',
    'a second',
    'to a job a fare',
    'CPU s/1000: worker',
    'PostgreSQL',
    'Redis',
    'of the floor',
    'WAL KB a check',
  ])
  for (const store of redis ? [undefined, redis] : [undefined]) await measureQueue(checks, store)
} finally {
  await checks.close()
  await redis?.close()
}
