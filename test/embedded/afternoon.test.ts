import { readFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { searchFlights } from '../../sandbox/world/story.ts'
import { createRival, type RivalReport } from '../../src/embedded/rival.ts'
import { DAY_MS, manualClock, START, startTestSandbox, TOKEN } from '../sandbox/support.ts'

const PAGE = readFileSync(new URL('../../docs/afternoon.md', import.meta.url), 'utf8')
const FLIGHTS = 20

/** A world that stands still, and the script that asks about flights of it. */
async function startStill() {
  const clock = manualClock(START)
  const sandbox = await startTestSandbox({ clock, speed: 1 })
  onTestFinished(() => sandbox.close())
  const flights = searchFlights(sandbox.world, START, { n: FLIGHTS })
  const reports: RivalReport[] = []
  const start = () =>
    createRival({ url: sandbox.url, token: TOKEN }, flights, (one) => reports.push(one))
  const faults = `${sandbox.url}/sandbox/faults`
  return {
    clock,
    reports,
    start,
    break: (rule: object) =>
      fetch(faults, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(rule),
      }),
    repair: () => fetch(faults, { method: 'DELETE' }),
  }
}

type Still = Awaited<ReturnType<typeof startStill>>

/** The script before, during and after a fault. */
const during =
  (rule: object, passes = 1) =>
  async (still: Still) => {
    const ask = still.start()
    await ask()
    await still.break(rule)
    for (let pass = 0; pass < passes; pass++) await ask()
    await still.repair()
    await ask()
  }

/** What is done to the script, by the headings of the page. */
const CASES: Readonly<Record<string, (still: Still) => Promise<void>>> = {
  'An error is no answer': during({ name: 'status', endpoint: 'verify', code: 503 }),
  'An answer can be wrong': during(
    { name: 'all-unavailable', endpoint: 'verify', probability: 0.1 },
    5,
  ),
  'All answers can be wrong': during({ name: 'all-unavailable', endpoint: 'verify' }),
  'Half of a list is no list': during({ name: 'half-list', endpoint: 'routes' }),
  'No routes are no list': during({ name: 'empty-array', endpoint: 'routes' }),
  'A departure is no sell-out': async ({ clock, start }) => {
    const ask = start()
    await ask()
    clock.advance(60 * DAY_MS)
    await ask()
  },
  'A restart forgets': async (still) => {
    await still.start()()
    await still.break({ name: 'all-unavailable', endpoint: 'verify' })
    await still.start()()
  },
  'Another flight is not the same flight': during({ name: 'another-flight', endpoint: 'verify' }),
}

/** The block of a section that counts what the script reported. */
function countsIn(heading: string): string | undefined {
  const section = PAGE.split(/^## /m).find((text) => text.startsWith(`${heading}\n`))
  return /```\n(.*?)\n```/s.exec(section ?? '')?.[1]
}

function counted(reports: readonly RivalReport[]): string {
  const kinds = ['sold out', 'open again', 'route gone', 'new route'] as const
  const counts = kinds.map((kind) => ({
    kind,
    n: reports.filter(({ what }) => what === kind).length,
  }))
  const some = counts.filter(({ n }) => n > 0).map(({ kind, n }) => `${kind}: ${n}`)
  return some.length === 0 ? 'nothing' : some.join('\n')
}

describe('the page about what a script gets wrong shows what the script has reported', () => {
  it.each(Object.entries(CASES))('%s', async (heading, play) => {
    const still = await startStill()

    await play(still)
    const flights = heading === 'A departure is no sell-out' ? /sold|open/ : /./

    expect(counted(still.reports.filter(({ what }) => flights.test(what)))).toBe(countsIn(heading))
  })

  it('has a section for each case', () => {
    const headings = [...PAGE.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)
    expect(headings.slice(0, -1)).toEqual(Object.keys(CASES))
  })
})
