/**
 * Counts what is recorded that is not true, and how late true changes are recorded. The product plays a market from a seed: its
 * own readers, SQL, decision and schedule, on a database whose clock is simulated. An upstream answers from what is true,
 * with one answer in a hundred faulty, and lies for minutes at a time in all the ways of bench/truth/lies.ts, with calm
 * in between. The same seed plays the same market in another checkout.
 *
 * A round of all fares takes 250 s. Every fare is watched alike, and about one thing changes a fare and day.
 *
 *   npm run bench:truth -- [checks] [fares] [seed]
 */
import { closeUncheckedIncidents } from '../src/fares/incidents.ts'
import { sql } from '../src/platform/db/database.ts'
import { silentLog } from '../test/support/silent-log.ts'
import { numbers, printHead, printRow } from './harness.ts'
import type { Fare } from './truth/market.ts'
import { dispatch, openProduct, read, record, watch } from './truth/product.ts'
import { type Score, scoreOf } from './truth/score.ts'
import { answerOf, createWorld, START_MS, type World } from './truth/timeline.ts'

const [CHECKS, FARES, SEED] = numbers(1_000_000, 5_000, 1)
const RATE = Math.max(1, Math.round(FARES / 250))
const MINUTE_MS = 60_000
/** From the last slot of a batch to its recording. */
const RECORDED_AFTER_MS = 200

const product = await openProduct(RATE, START_MS)

/** Checks what is due until the end. Returns how many checks were made. */
async function play(world: World, fares: ReadonlyMap<number, Fare>): Promise<number> {
  let count = 0
  let [nowMs, minuteMs, vacuumMs] = [START_MS, START_MS, START_MS]
  while (nowMs < world.endMs) {
    await product.setClock(nowMs)
    if (nowMs >= minuteMs) {
      await closeUncheckedIncidents({ db: product.db, log: silentLog })
      minuteMs += MINUTE_MS
    }
    if (nowMs >= vacuumMs) {
      await sql`vacuum analyze`.execute(product.db)
      vacuumMs = nowMs + 10 * MINUTE_MS
    }
    const claimed = await dispatch(product)
    const asked = claimed.map(async (check) => {
      const fare = fares.get(check.fareId)
      if (fare === undefined) throw new Error(`no watch asks for fare ${check.fareId}`)
      const wire = answerOf(world, fare, check.slotAt.getTime())
      return { ...check, observation: await read(fare, wire) }
    })
    const batch = await Promise.all(asked)
    nowMs = (batch.at(-1)?.slotAt.getTime() ?? nowMs + 1_000) + RECORDED_AFTER_MS
    await product.setClock(nowMs)
    await record(product, batch)
    count += batch.length
  }
  return count
}

function print({ falseRecords, delays }: Score, checks: number): void {
  printHead(`${checks} checks of ${FARES} fares`, ['lie', 'false records a million checks'])
  for (const [cause, count] of falseRecords) printRow([cause, (1e6 * count) / checks])
  const all = [...falseRecords.values()].reduce((a, b) => a + b, 0)
  printRow(['all', (1e6 * all) / checks])
  const limits = [1, 2, 10]
  const shares = limits.map((minutes) => `% in ${minutes} min`)
  printHead('true changes', ['kind', 'changes', ...shares])
  for (const [kind, seconds] of delays) {
    const within = limits.map((most) => seconds.filter((one) => one <= 60 * most).length)
    const parts = within.map((count) => (100 * count) / seconds.length)
    printRow([kind, `${seconds.length}`, ...parts])
  }
}

try {
  const world = createWorld({ seed: SEED, fares: FARES, checks: CHECKS, requestsPerSecond: RATE })
  const fares = await watch(product, world.fares)
  const checks = await play(world, fares)
  print(await scoreOf(product.db, world, fares), checks)
} finally {
  await product.close()
}
