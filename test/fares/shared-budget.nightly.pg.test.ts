import { describe, expect, onTestFinished } from 'vitest'
import { startSandbox } from '../../sandbox/sandbox-server.ts'
import { EXIT } from '../../src/cli/exit-codes.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { searchDemoFlights } from '../sandbox/changing-flights.ts'
import { runFarewatch, startInTest } from '../support/child-process.ts'
import { startFaultyProxy } from '../support/faulty-proxy.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'
import { startWorker } from './worker-fixtures.ts'

const SECONDS = 60
const REQUESTS_PER_SECOND = 15
/** More fares than the budget can check in that time: all of it is wanted. */
const FARES = 1_200
const TOKEN = 'budget-access-token'

/** When the sandbox received its requests, in milliseconds, in order. */
async function requestTimes(url: string): Promise<number[]> {
  const times: number[] = []
  for (let after = 0; ; ) {
    const response = await fetch(`${url}/sandbox/log?after=${after}`)
    const page = (await response.json()) as { entries: { realMs: number }[]; next: number }
    if (page.entries.length === 0) return times.toSorted((a, b) => a - b)
    times.push(...page.entries.map((entry) => entry.realMs))
    after = page.next
  }
}

/** The most requests that any window of so many seconds saw. */
function mostWithin(times: readonly number[], seconds: number): number {
  return times.reduce((most, from, i) => {
    const after = times.findIndex((time) => time - from > seconds * 1000)
    return Math.max(most, (after === -1 ? times.length : after) - i)
  }, 0)
}

/** An API process that verifies on demand all the time, and the count of its good answers. */
async function readApiUntil(end: number, env: Readonly<Record<string, string>>): Promise<number> {
  const api = startInTest(['api'], { ...env, API_PORT: '0', ADMIN_PORT: '0' })
  const status = await until('the API', () => /"api":"([^"]+)"/.exec(api.stdout())?.[1])
  const made = await runFarewatch(['keys', 'create', '--operator', '--json', '--database'], env)
  const { key } = JSON.parse(made.stdout) as { key: string }
  const headers = { authorization: `Bearer ${key}` }
  let good = 0
  while (Date.now() < end) {
    const response = await fetch(status, { headers })
    await response.arrayBuffer()
    if (response.ok) good += 1
  }
  return good
}

describe('two workers and an API, with a tenth of the answers corrupted', () => {
  it('all processes together spend one budget, and no more', { timeout: 150_000 }, async ({
    db,
    databaseUrl,
  }) => {
    const options = { port: 0, seed: 7, speed: 1, token: TOKEN, clock: systemClock, log: silentLog }
    const sandbox = await startSandbox(options)
    onTestFinished(() => sandbox.close())
    let drawn = 0
    const proxy = await startFaultyProxy(sandbox.url, 0.1, () => (drawn++ * 0.618_034) % 1)
    onTestFinished(() => proxy.close())
    const flights = searchDemoFlights(sandbox.world, sandbox.now(), FARES)
    await resellerWith(
      db,
      flights.map((id) => cells({ reference: `R${id}`, flight_id: id })),
    )
    const upstream = { UPSTREAM_BASE_URL: proxy.url }
    const settings = {
      UPSTREAM_ACCESS_TOKEN: TOKEN,
      UPSTREAM_REQUESTS_PER_SECOND: String(REQUESTS_PER_SECOND),
      MIN_INTERVAL_SECONDS: '1',
      // Both lists once a minute, in addition to the checks.
      ROUTE_SYNC_SCHEDULE: '* * * * *',
      AVAILABILITY_SYNC_SCHEDULE: '* * * * *',
    }
    for (let i = 0; i < 2; i += 1) startWorker({ databaseUrl, upstreamUrl: proxy.url, settings })

    const end = Date.now() + SECONDS * 1000
    const reading = readApiUntil(end, { DATABASE_URL: databaseUrl, ...upstream, ...settings })
    const verifyUntilEnd = async (user: number) => {
      const exits: (number | string)[] = []
      while (Date.now() < end) {
        const flight = flights[(exits.length * 2 + user) % flights.length] ?? ''
        const { exit } = await runFarewatch(
          ['verify', '--flight', flight, '--non-residents-adults', '1'],
          { DATABASE_URL: databaseUrl, ...upstream, ...settings },
        )
        exits.push(exit)
      }
      return exits
    }
    const exits = (await Promise.all([verifyUntilEnd(0), verifyUntilEnd(1)])).flat()
    const times = await requestTimes(sandbox.url)
    expect(await reading).toBeGreaterThan(10)

    const corrupted = Object.values(proxy.corrupted).reduce((sum, n) => sum + n, 0)
    expect(exits.length).toBeGreaterThan(4)
    expect(exits.filter((exit) => exit !== EXIT.ok && exit !== EXIT.failed)).toEqual([])
    expect(exits.filter((exit) => exit === EXIT.ok).length).toBeGreaterThan(0)
    expect(corrupted).toBeGreaterThan(10)
    // The workers start within some seconds; after that all of the budget is used.
    expect(mostWithin(times, 10)).toBeGreaterThan(0.5 * REQUESTS_PER_SECOND * 10)
    for (const seconds of [1, 5, 10, 30]) {
      expect(mostWithin(times, seconds)).toBeLessThanOrEqual(
        REQUESTS_PER_SECOND * (seconds + 1) + 1,
      )
    }
  })
})
