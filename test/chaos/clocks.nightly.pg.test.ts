import { describe, it } from 'vitest'
import { makeWait, openClaims } from '../fares/worker-fixtures.ts'
import type { RunningCommand } from '../support/child-process.ts'
import { addressesOf } from '../support/child-process.ts'
import { eventually } from './eventually.ts'
import { expectInvariants } from './invariants.ts'
import { faresOf, makeListDue, runsOf, watch } from './steps.ts'
import { BACKENDS, openWorld, type Settings, type World } from './world.ts'

const TEN_MINUTES_MS = 600_000
const REQUESTS_PER_SECOND = 10
const MIN_INTERVAL_SECONDS = 4
const FLIGHTS = Array.from({ length: 24 }, (_, i) => String(900 + i))
/** A tick runs every 60 s at the latest; 30 s more cover a check. */
const BACK_WITHIN_MS = 90_000

const SHIFT_CLOCK = new URL('fixtures/shift-clock.ts', import.meta.url).href

function wrongBy(ms: number, timeZone: string): Settings {
  return {
    ...PACE,
    NODE_OPTIONS: `--import ${SHIFT_CLOCK}`,
    CHAOS_CLOCK_SHIFT_MS: String(ms),
    TZ: timeZone,
  }
}

const PACE: Settings = {
  UPSTREAM_REQUESTS_PER_SECOND: String(REQUESTS_PER_SECOND),
  MIN_INTERVAL_SECONDS: String(MIN_INTERVAL_SECONDS),
}

/** The highest number of requests in any window of this length. */
function mostWithin(times: readonly number[], seconds: number): number {
  return Math.max(
    ...times.map((from, i) => times.slice(i).filter((at) => at - from <= seconds * 1000).length),
  )
}

/** The shortest time between two requests of one flight, in milliseconds. */
function shortestGapMs(requests: readonly { of: string; atMs: number }[]): number {
  const gaps = FLIGHTS.flatMap((id) => {
    const times = requests.filter(({ of }) => of === id).map(({ atMs }) => atMs)
    return times.slice(1).map((at, i) => at - (times[i] ?? 0))
  })
  return Math.min(...gaps)
}

async function end(command: RunningCommand): Promise<number | string> {
  command.child.kill('SIGTERM')
  return command.ended
}

/** Which worker continues alone: the one with the right clock, or the slow one, to which all due times lie in the future. */
const CASES = BACKENDS.map((backend) => ({
  backend,
  left: backend === 'postgres' ? ('right' as const) : ('slow' as const),
}))

// The cases run together because each waits up to 90 s.
describe('workers whose clocks are ten minutes wrong', { concurrent: true }, () => {
  it.for(CASES)(
    // Fault: Clocks are ten minutes wrong, or daylight saving time begins or ends. The budget and the minimum interval are
    // kept, and no check is missed. A worker continues alone after the others have ended.
    'keep the budget and the minimum interval, and the $left one continues alone, on $backend',
    { timeout: 240_000 },
    async ({ backend, left }, { expect, onTestFinished }) => {
      const world = await openWorld(backend)
      onTestFinished(() => world.close())
      const { upstream } = world
      upstream.sell(FLIGHTS)
      await watch(world, FLIGHTS)
      const fast = world.start('worker', wrongBy(TEN_MINUTES_MS, 'Pacific/Apia'))
      await addressesOf(fast)
      const others = {
        slow: world.start('worker', wrongBy(-TEN_MINUTES_MS, 'America/New_York')),
        right: world.start('worker', PACE),
      }
      await Promise.all([addressesOf(others.slow), addressesOf(others.right)])

      await eventually('the baseline', async () => (await runsOf(world)).length === 1, 40_000)
      await makeListDue(world)
      await eventually('one more list', async () => (await runsOf(world)).length === 2, 40_000)
      await eventually('three checks of each', () => isChecked(world, 3), 60_000)
      expect(shortestGapMs(upstream.requests)).toBeGreaterThan(MIN_INTERVAL_SECONDS * 1000 - 500)

      const leaving = [fast, left === 'slow' ? others.right : others.slow]
      expect(await Promise.all(leaving.map(end))).toEqual([0, 0])
      const most = Math.max(...(await faresOf(world, FLIGHTS)).map(({ checks }) => checks))
      await eventually(
        'checks by the last worker',
        () => isChecked(world, most + 1),
        BACK_WITHIN_MS,
      )
      await eventually('no open claims', () => hasStopped(world))
      expect(await end(others[left])).toBe(0)

      const times = upstream.requests.map(({ atMs }) => atMs)
      for (const seconds of [1, 5, 10]) {
        expect(mostWithin(times, seconds)).toBeLessThanOrEqual(
          REQUESTS_PER_SECOND * (seconds + 1) + 1,
        )
      }
      expect(await runsOf(world)).toEqual(['applied', 'unchanged'])
      await expectInvariants(world, { withinMs: 80_000 })
    },
  )
})

/** Prevents new claims and returns whether no claim is open, so that the worker that ends now leaves none behind. */
async function hasStopped({ db }: World): Promise<boolean> {
  await makeWait(db)
  return (await openClaims(db)).length === 0
}

async function isChecked(world: World, times: number): Promise<boolean> {
  const fares = await faresOf(world, FLIGHTS)
  return fares.length === FLIGHTS.length && fares.every(({ checks }) => checks >= times)
}
