/**
 * Measures what workers record when they are asked for more than they carry: one worker and three, at rising budgets up to
 * 8,000 a second. A worker that claims no more than it carries records at the largest budget about what it does at its best.
 * The upstream, PostgreSQL and the workers share this machine, so three workers do not record three times as much as one.
 *
 *   npm run bench:overload -- [fares] [seconds a step] [another checkout]
 */
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { App } from '../src/app/app.ts'
import { MAIN, startRole, stop } from './start-role.ts'
import {
  countChecks,
  type Fixture,
  makeAllDue,
  openBenchApp,
  openFixture,
  seedFares,
} from './verify-fixture.ts'

/** More than the largest step claims ahead. */
const FARES = Number(process.argv[2] ?? 120_000)
const SECONDS = Number(process.argv[3] ?? 15)
const OTHER = process.argv[4]
const BUDGETS = [1_000, 2_000, 4_000, 8_000]
const WORKERS = [1, 3]
/** The capacity doubles every few seconds until it is known. */
const WARM_UP_SECONDS = 20

const main = OTHER === undefined ? MAIN : path.join(OTHER, 'src/cli/main.ts')

function startWorker(fixture: Fixture, budget: number) {
  const settings = { UPSTREAM_REQUESTS_PER_SECOND: String(budget) }
  return startRole(fixture, 'worker', settings, [process.execPath, main])
}

/** The checks that were recorded a second, by all workers together. */
async function measure(
  fixture: Fixture,
  app: App,
  { workers, budget }: { readonly workers: number; readonly budget: number },
): Promise<number> {
  const { db } = app.database
  await makeAllDue(db)
  const roles = await Promise.all(
    Array.from({ length: workers }, () => startWorker(fixture, budget)),
  )
  await delay(Math.min(WARM_UP_SECONDS, 3 * SECONDS) * 1_000)
  const [before, fromMs] = [await countChecks(db), performance.now()]
  await delay(SECONDS * 1_000)
  const recorded = (await countChecks(db)) - before
  const perSecond = recorded / ((performance.now() - fromMs) / 1_000)
  await Promise.all(roles.map(stop))
  return perSecond
}

/** The first check of every fare is a change. The checks that are measured find nothing new. */
async function checkAll(fixture: Fixture, { database: { db } }: App): Promise<void> {
  const role = await startWorker(fixture, 1_000)
  while ((await countChecks(db)) < FARES) await delay(500)
  await stop(role)
}

const fixture = await openFixture()
const app = openBenchApp(fixture, { requestsPerSecond: 1 })
try {
  await seedFares(app, FARES)
  await checkAll(fixture, app)
  console.log(`${FARES} fares, ${SECONDS} s a step: checks recorded a second`)
  console.log(['workers', ...BUDGETS].map((text) => String(text).padStart(8)).join(''), ' of best')
  for (const workers of WORKERS) {
    const rates: number[] = []
    for (const budget of BUDGETS) rates.push(await measure(fixture, app, { workers, budget }))
    const best = Math.max(...rates.slice(0, -1))
    const texts = [workers, ...rates.map((rate) => rate.toFixed(0))]
    const share = (rates.at(-1) ?? 0) / best
    console.log(
      texts.map((text) => String(text).padStart(8)).join(''),
      share.toFixed(2).padStart(8),
    )
  }
} finally {
  await app.close()
  await fixture.close()
}
