/**
 * Counts what is recorded that is not true, and what is true and not reported. Two versions of the product, a commit before
 * and this one, play the same market from a seed: their own readers, SQL, decision and schedule, on databases whose
 * clock is simulated. An upstream answers from what is true, with one answer in a hundred faulty, and lies for minutes
 * at a time in all the ways of bench/truth/lies.ts, with calm in between.
 *
 * A round of all fares takes 250 s. Every fare is watched alike, about one thing changes a fare and day, and
 * confirmations are made when a version asks for them.
 *
 *   npm run bench:truth -- [checks] [fares] [--before COMMIT or none] [--seed N] [--only PATTERN] [--list]
 *
 * --only plays what has such a name. --list prints every false record.
 */
import { parseArgs } from 'node:util'
import type { Played } from './truth/play.ts'
import { printReport } from './truth/report.ts'
import { BEFORE, checkOut, runIn } from './truth/versions.ts'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    before: { type: 'string', default: BEFORE },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
    list: { type: 'boolean', default: false },
  },
})
const CHECKS = Number(positionals[0] ?? 1_000_000)
const FARES = Number(positionals[1] ?? 5_000)
const ROUND_SECONDS = 250

const world = {
  seed: Number(values.seed),
  fares: FARES,
  checks: CHECKS,
  requestsPerSecond: FARES / ROUND_SECONDS,
  only: values.only,
}
const { versions, remove } = await checkOut(values.before)
try {
  const results = await Promise.all(
    versions.map(async (version) => {
      return { name: version.name, ...(await runIn<Played>(version, 'play.ts', { world })) }
    }),
  )
  printReport(results, { isListed: values.list })
} finally {
  await remove()
}
