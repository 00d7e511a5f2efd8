import { DAY_MS, HOUR_MS } from './episodes.ts'
import { fareHistory } from './fare-life.ts'
import { dayOf, flightIdOf } from './flight-schedule.ts'
import { draw, mix } from './random.ts'
import { isBookable } from './route-life.ts'
import type { World } from './world.ts'

const SOON_DAYS = 14
const EARLIEST_DAYS = 2
const LOOK_AHEAD_MS = 6 * HOUR_MS
/** Each costs about 20 µs. */
const MOST_LOOKED_AT = 6000

/**
 * Ids of up to n flights that leave within two weeks on routes on sale, for a demonstration that must show
 * something at once: up to half of them change their availability within six hours of world time, the
 * soonest first; the others stay as they are for that long.
 *
 * Ask for the instant at which the watching begins: what has changed by the first check is never seen.
 */
export function searchDemoFlights(world: World, instant: Date, n: number): string[] {
  const now = instant.getTime()
  const word = mix(world.seed, 91)
  const pairs = world.pairs.filter((pair) => isBookable(pair, { from: now, to: now }))
  pairs.sort((a, b) => draw(word, a.word) - draw(word, b.word))

  const changing: { id: string; at: number }[] = []
  const quiet: string[] = []
  let looked = 0
  for (let ahead = EARLIEST_DAYS; ahead < SOON_DAYS && looked < MOST_LOOKED_AT; ahead += 3) {
    for (const pair of pairs) {
      if (looked++ >= MOST_LOOKED_AT) break
      const id = flightIdOf({ pair, day: dayOf(new Date(now + ahead * DAY_MS)), number: 0 })
      const at = firstChange(world, id, now)
      if (at === undefined) quiet.push(id)
      else changing.push({ id, at })
    }
  }
  changing.sort((a, b) => a.at - b.at)
  const lively = changing.slice(0, Math.ceil(n / 2)).map(({ id }) => id)
  return [...lively, ...quiet].slice(0, n)
}

function firstChange(world: World, id: string, now: number): number | undefined {
  const window = { from: new Date(now), to: new Date(now + LOOK_AHEAD_MS) }
  const steps = fareHistory(world, id, window)
  return steps.find(({ before, after }) => before.available !== after.available)?.at.getTime()
}
