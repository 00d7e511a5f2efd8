import { DAY_MS, HOUR_MS } from '../../sandbox/world/episodes.ts'
import { fareHistory } from '../../sandbox/world/fare-life.ts'
import { dayOf, flightIdOf } from '../../sandbox/world/flight-schedule.ts'
import { draw, mix } from '../../sandbox/world/random.ts'
import { isBookable } from '../../sandbox/world/route-life.ts'
import type { World } from '../../sandbox/world/world.ts'

/**
 * The demo's world runs 60 times as fast as the calendar: it passes a departure long before the real clock does, and to
 * farewatch the flight seems to sell out. No flight of the demo departs within 16 hours of real time.
 */
const EARLIEST_DAYS = 40
const LATEST_DAYS = 52
const HORIZON_MS = 6 * HOUR_MS
/** Each costs about 20 µs. */
const MAX_EXAMINED = 6000

/**
 * The ids of up to n flights that depart in about six weeks, for a demonstration that shows changes at once. The
 * availability of up to half of them changes within six hours of world time after the instant, the soonest first. The
 * others stay as they are for that long.
 */
export function searchDemoFlights(world: World, instant: Date, n: number): string[] {
  const now = instant.getTime()
  const word = mix(world.seed, 91)
  const pairs = world.pairs.filter((pair) => isBookable(pair, { from: now, to: now }))
  pairs.sort((a, b) => draw(word, a.word) - draw(word, b.word))

  const changing: { id: string; at: number }[] = []
  const steady: string[] = []
  let examined = 0
  for (let ahead = EARLIEST_DAYS; ahead < LATEST_DAYS && examined < MAX_EXAMINED; ahead += 3) {
    for (const pair of pairs) {
      if (examined++ >= MAX_EXAMINED) break
      const id = flightIdOf({ pair, day: dayOf(new Date(now + ahead * DAY_MS)), number: 0 })
      const at = firstChange(world, id, now)
      if (at === undefined) steady.push(id)
      else changing.push({ id, at })
    }
  }
  changing.sort((a, b) => a.at - b.at)
  const soonest = changing.slice(0, Math.ceil(n / 2)).map(({ id }) => id)
  return [...soonest, ...steady].slice(0, n)
}

function firstChange(world: World, id: string, now: number): number | undefined {
  const window = { from: new Date(now), to: new Date(now + HORIZON_MS) }
  const steps = fareHistory(world, id, window)
  return steps.find(({ before, after }) => before.available !== after.available)?.at.getTime()
}
