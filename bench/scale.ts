/**
 * Measures how far workers scale: a million fares of a thousand resellers, budgets that the workers reach and that they do
 * not, one, two and four worker processes, on both backends of the queue. The upstream, the stores and the workers share one
 * machine. docs/performance.md quotes its rates.
 *
 *   npm run bench:scale -- [fares] [resellers] [seconds a step] [workers: 1,2,4] [budgets: 2000,10000]
 */
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from '../src/platform/db/database.ts'
import { selectOne } from '../src/platform/db/transaction.ts'
import { openChecks, runWorkers } from './checks.ts'
import { numbers, printHead, printRow, startRedis } from './harness.ts'

const [FARES, RESELLERS, SECONDS] = numbers(1_000_000, 1_000, 20)
const [WORKERS, BUDGETS] = ['1,2,4', '2000,10000'].map((preset, i) =>
  (process.argv[5 + i] ?? preset).split(',').map(Number),
) as [number[], number[]]
const SAMPLE_MS = 100

const redis = await startRedis()
const checks = await openChecks(FARES, RESELLERS)

/** How many sessions of the workers wait for a lock, on average. */
async function sampleLocks(): Promise<number> {
  let [waiting, samples] = [0, 0]
  for (const end = performance.now() + SECONDS * 1_000; performance.now() < end; samples += 1) {
    const { n } = await selectOne(
      sql<{ n: number }>`
        select count(*) as n from pg_stat_activity
         where wait_event_type = 'Lock' and application_name like 'farewatch worker%'
      `,
      checks.app.database.db,
    )
    waiting += n
    await delay(SAMPLE_MS)
  }
  return waiting / samples
}

try {
  const { bytes } = await selectOne(
    sql<{ bytes: number }>`
      select sum(pg_total_relation_size(oid))::float8 as bytes from pg_class
       where relname in ('fare_schedule', 'fare_state', 'tracked_fare', 'turn', 'watch')
    `,
    checks.app.database.db,
  )
  console.log(`${Math.round(bytes / FARES)} bytes a fare of checks`)
  printHead(`${FARES} fares of ${RESELLERS} resellers, ${SECONDS} s a step`, [
    'queue',
    'workers',
    'budget',
    'first minute',
    'recorded a second',
    'cores: workers',
    'PostgreSQL',
    'Redis',
    'sessions that wait for a lock',
  ])
  for (const store of redis ? [undefined, redis] : [undefined]) {
    for (const workers of WORKERS) {
      for (const budget of BUDGETS) {
        let locks = 0
        const step = { workers, budget, redis: store, seconds: SECONDS }
        const used = await runWorkers(checks, step, async () => {
          locks = await sampleLocks()
        })
        const { firstRate, rate, workers: own, postgres, redis: cores } = used
        const name = store ? 'Redis' : 'PostgreSQL'
        printRow([name, `${workers}`, `${budget}`, firstRate, rate, own, postgres, cores, locks])
      }
    }
  }
} finally {
  await checks.close()
  await redis?.close()
}
