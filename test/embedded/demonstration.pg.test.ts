import { expect, onTestFinished } from 'vitest'
import { listDemoFlights, seedDemoWatches } from '../../src/embedded/demo.ts'
import { demonstrationLoop } from '../../src/embedded/demonstration.ts'
import { createRival, type RivalReport } from '../../src/embedded/rival.ts'
import type { Db } from '../../src/platform/db/database.ts'
import { manualClock, START, startTestSandbox, TOKEN } from '../sandbox/support.ts'
import { it } from '../support/test-database.ts'

const MINUTE_MS = 60_000

/** A demonstration of a world that stands still, which runs when the test says so. */
async function startStill(db: Db, { refused = 0, arrived = 0 } = {}) {
  const clock = manualClock(START)
  const sandbox = await startTestSandbox({ clock, speed: 0 })
  onTestFinished(() => sandbox.close())
  await seedDemoWatches(db, sandbox.world, sandbox.now())
  const flights = await listDemoFlights(db)
  const reports: RivalReport[] = []
  const ask = createRival({ url: sandbox.url, token: TOKEN }, flights, (report) =>
    reports.push(report),
  )
  const count = (what: RivalReport['what']) => reports.filter((one) => one.what === what).length
  const lines: string[] = []
  let deadMs = 0
  const receiver = {
    die: (ms: number) => {
      deadMs = ms
    },
    counts: () => (deadMs === 0 ? { refused: 0, arrived: 0 } : { refused, arrived }),
  }
  const say = (line: string) => void lines.push(line)
  const loop = demonstrationLoop({ db, clock, sandbox, receiver, reports, say })
  const pass = async (ms: number) => {
    clock.advance(ms)
    await ask()
    return loop.run(new AbortController().signal)
  }
  await ask()
  return { lines, ask, count, pass, flights, deadMs: () => deadMs }
}

it('shows what a script would have reported of half a list, and that farewatch recorded nothing', async ({
  db,
}) => {
  const { lines, ask, pass } = await startStill(db)

  expect(await pass(0)).toBe(2 * MINUTE_MS)
  await pass(2 * MINUTE_MS)
  await ask()
  await pass(90_000)

  const routesGone = Number(/reported (\d+) routes as gone/.exec(lines[1] ?? '')?.[1])
  expect(routesGone).toBeGreaterThan(100)
  expect(lines.slice(0, 2)).toEqual([
    'the upstream sends half of the route list, for a minute',
    'farewatch held that list and recorded 0 removed routes. A script that compares lists has reported ' +
      `${routesGone} routes as gone, and ${routesGone} as new since`,
  ])
})

it('shows what a script would have reported of false sell-outs', async ({ db }) => {
  const { lines, ask, count, pass, flights } = await startStill(db)

  await pass(2 * MINUTE_MS)
  await pass(90_000)
  await ask()
  await pass(90_000)

  expect([count('sold out'), count('open again')]).toEqual([flights.length, flights.length])
  expect(lines.slice(2)).toEqual([
    'the upstream answers "not available" for every flight, for a minute',
    'farewatch waited and recorded 0 sell-outs. A script that compares answers has reported ' +
      `${flights.length}, and ${flights.length} flights as open again since`,
  ])
})

it('kills the receiver of the webhooks after ten more minutes, and says what arrived all the same', async ({
  db,
}) => {
  const { lines, pass, deadMs } = await startStill(db, { refused: 3, arrived: 2 })

  await pass(2 * MINUTE_MS)
  await pass(90_000)
  expect(await pass(90_000)).toBe(8 * MINUTE_MS)
  await pass(8 * MINUTE_MS)
  await pass(90_000)

  expect(deadMs()).toBe(MINUTE_MS)
  expect(lines.slice(4)).toEqual([
    'the receiver of the webhooks answers 503, for a minute',
    'it refused 3 webhooks, and 2 of them have arrived since. A script that posts once has lost them',
  ])
})
