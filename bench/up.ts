/**
 * Measures how soon `farewatch up` detects changes on a sandbox at ten times the speed of the calendar, with its schedule and with
 * equal rates, which is round robin. Both run at the same time on worlds with the same changes, so their ratio compares pairs.
 *
 * The sandbox computes every true change, and its log has every check: the delay is the time from a change to the first check
 * after it. A change that ends before the next check counts as well. The weight of a change is that of the watch's priority times
 * the value of its kind. Equal rates are made by a trigger, so that both run the same program.
 *
 *   npm run bench:up -- [minutes] [fares]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { LogPage } from '../sandbox/operations/request-log.ts'
import { fareHistory } from '../sandbox/world/fare-life.ts'
import { dayOf, findFlight, flightIdOf } from '../sandbox/world/flight-schedule.ts'
import { createWorld } from '../sandbox/world/world.ts'
import { acquireEmbeddedPostgres } from '../src/embedded/postgres.ts'
import { findPlace } from '../src/embedded/postgres-place.ts'
import { requireSandbox } from '../src/embedded/running-services.ts'
import { WATCH_PRIORITIES, type WatchPriority } from '../src/platform/base/kinds.ts'
import { openDatabase, sql } from '../src/platform/db/database.ts'
import { createReseller } from '../src/resellers/resellers.ts'
import { eventValue } from '../src/schedule/score.ts'
import { importWatchList } from '../src/watches/import/import-watch-list.ts'
import { rowsOf } from '../src/watches/rows/watch-row.ts'
import { PRODUCT } from './start-role.ts'
import { log } from './verify-fixture.ts'

const MINUTES = Number(process.argv[2] ?? 30)
const FARES = Number(process.argv[3] ?? 3_000)
const SPEED = 10
const SEED = 1
const REQUESTS_PER_SECOND = 20
/** At the beginning no fare is known, and near the end a change has no later check: two rounds each are not measured. */
const MARGIN_MS = Math.min(2 * (FARES / REQUESTS_PER_SECOND), (MINUTES * 60) / 3) * 1_000
const DAY_MS = 86_400_000

/** As sync-tracked-fares.ts computes the weight of a fare. */
const WEIGHTS: Readonly<Record<WatchPriority, number>> = { low: 1, normal: 2, high: 5, urgent: 20 }
const PRIORITIES: readonly WatchPriority[] = [
  'low',
  'normal',
  'normal',
  'normal',
  'high',
  'normal',
  'low',
  'high',
  'normal',
  'urgent',
]

const priorityOf = (i: number): WatchPriority => PRIORITIES[i % PRIORITIES.length] ?? 'normal'

/** Two departures of each pair of places at most, so that routes have siblings; none departs while the world runs. */
function chooseFlights(startedAt: Date): string[] {
  const found: string[] = []
  for (const pair of world.pairs) {
    for (const ahead of [4 + (pair.word % 20), 25 + (pair.word % 60)]) {
      const day = dayOf(new Date(startedAt.getTime() + ahead * DAY_MS))
      const id = flightIdOf({ pair, day, number: 0 })
      if (findFlight(world, id) && found.push(id) === FARES) return found
    }
  }
  return found
}

/** Every check has the same score, so that each fare comes once a round. */
const EQUAL_RATES = `
  create function equal_rate() returns trigger language plpgsql as $$
  begin
    if tg_op = 'UPDATE' and new.score = old.score and new.vdue < old.vdue then
      -- Another fare of its route has changed.
      new.vdue := old.vdue;
    else
      new.vdue := (select v from reseller_queue where reseller_id = new.reseller_id)
                  + case when tg_op = 'INSERT' then random() else 1 end;
    end if;
    new.score := 1;
    return new;
  end $$;
  create trigger equal_rate before insert or update of score, vdue on turn for each row execute function equal_rate();
`

interface Check {
  readonly flightId: string
  readonly worldMs: number
}

/** Runs `farewatch up` in a home of its own until `untilMs`, and returns every check that the sandbox answered. */
async function runUp(args: {
  name: string
  equal: boolean
  startedAt: Date
  flights: readonly string[]
  untilMs: number
}): Promise<Check[]> {
  const home = await mkdtemp(path.join(os.tmpdir(), `farewatch-bench-${args.name}-`))
  const startedAt = args.startedAt.toISOString()
  // Its story lies in the past, and its time runs from the same instant in both programs.
  const storyAt = '2000-01-01T00:00:00Z'
  const stored = { seed: SEED, speed: SPEED, storyAt, worldTime: startedAt, runsAt: startedAt }
  await writeFile(path.join(home, 'sandbox.json'), JSON.stringify(stored))
  const up = spawn(PRODUCT, ['up'], {
    cwd: home,
    env: {
      PATH: process.env.PATH ?? '',
      FAREWATCH_HOME: home,
      API_PORT: '0',
      ADMIN_PORT: '0',
      UPSTREAM_REQUESTS_PER_SECOND: String(REQUESTS_PER_SECOND),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    await untilReady(up.stdout)
    up.stdout.resume()
    const postgres = await acquireEmbeddedPostgres({ home, log, join: true })
    const database = openDatabase({ url: postgres.url, applicationName: 'bench', log })
    if (args.equal) await sql.raw(EQUAL_RATES).execute(database.db)
    const { id } = await createReseller(database.db, 'bench')
    const rows = args.flights.map((flightId, i) => ({
      list: 'bench',
      reference: `w${i}`,
      flight_id: flightId,
      residents_adults: '0',
      non_residents_adults: '1',
      priority: priorityOf(i),
    }))
    await importWatchList(database.db, { resellerId: id, source: rowsOf('bench', rows) })
    await database.close()
    await postgres.release()
    return await followLog((await requireSandbox(home)).url, args.untilMs)
  } finally {
    up.kill('SIGTERM')
    if (up.exitCode === null) await once(up, 'exit')
    const { directory } = await findPlace(home)
    for (const folder of [directory, home]) await rm(folder, { recursive: true, force: true })
  }
}

async function untilReady(stdout: Readable): Promise<void> {
  let output = ''
  for await (const chunk of stdout.iterator({ destroyOnReturn: false })) {
    output = `${output}${String(chunk)}`.slice(-20_000)
    if (output.includes('"msg":"ready"')) return
  }
  throw new Error(`farewatch up ended: ${output.slice(-500)}`)
}

async function followLog(url: string, untilMs: number): Promise<Check[]> {
  const checks: Check[] = []
  let after = 0
  while (Date.now() < untilMs) {
    await delay(Math.min(5_000, Math.max(0, untilMs - Date.now())))
    for (let more = true; more; ) {
      const page = (await (await fetch(`${url}/sandbox/log?after=${after}`)).json()) as LogPage
      more = page.next > after
      after = page.next
      for (const { question, outcome, worldTime } of page.entries) {
        if (question === null || outcome.status !== 200) continue
        checks.push({ flightId: question.flightId, worldMs: Date.parse(worldTime) })
      }
    }
  }
  return checks
}

interface Detected {
  readonly kind: 'gain' | 'loss' | 'other'
  readonly priority: WatchPriority
  readonly seconds: number
  /** No check followed: the delay is that until the end of the run. */
  readonly isOpen: boolean
}

/** The delay of every true change of the world between two instants of its clock. */
function delaysOf(
  checks: readonly Check[],
  { flights, from, to, endMs }: { flights: readonly string[]; from: Date; to: Date; endMs: number },
): Detected[] {
  const checksOf = Map.groupBy(checks, ({ flightId }) => flightId)
  return flights.flatMap((id, i) =>
    fareHistory(world, id, { from, to }).map(({ at, before, after }): Detected => {
      const check = checksOf.get(id)?.find(({ worldMs }) => worldMs >= at.getTime())
      return {
        kind: before.available === after.available ? 'other' : after.available ? 'gain' : 'loss',
        priority: priorityOf(i),
        seconds: ((check?.worldMs ?? endMs) - at.getTime()) / 1_000 / SPEED,
        isOpen: check === undefined,
      }
    }),
  )
}

const VALUE = {
  gain: eventValue(['became_available']),
  loss: eventValue(['became_unavailable']),
  other: eventValue(['price_changed']),
}
const weightOf = ({ kind, priority }: Detected): number => WEIGHTS[priority] * VALUE[kind]

function mean(all: readonly Detected[], weight: (one: Detected) => number): number {
  const sum = all.reduce((total, one) => total + weight(one), 0)
  return all.reduce((total, one) => total + weight(one) * one.seconds, 0) / sum
}

const world = createWorld({ seed: SEED })
const startedAt = new Date()
const flights = chooseFlights(startedAt)
const untilMs = startedAt.getTime() + MINUTES * 60_000
printLoad('before')
const [equal = [], ours = []] = await Promise.all(
  [true, false].map((isEqual) =>
    runUp({ name: isEqual ? 'equal' : 'ours', equal: isEqual, startedAt, flights, untilMs }),
  ),
)
const from = new Date(startedAt.getTime() + MARGIN_MS * SPEED)
const to = new Date(startedAt.getTime() + (MINUTES * 60_000 - MARGIN_MS) * SPEED)
const endMs = startedAt.getTime() + MINUTES * 60_000 * SPEED
const delays = [equal, ours].map((checks) => delaysOf(checks, { flights, from, to, endMs }))

console.log(
  `${flights.length} fares, ${REQUESTS_PER_SECOND} requests a second, ${MINUTES} minutes; checks: equal ${equal.length}, ours ${ours.length}`,
)
console.log(
  'changes without a later check:',
  delays.map((all) => all.filter(({ isOpen }) => isOpen).length).join(', '),
)
row('mean delay in seconds', ['changes', 'equal', 'ours', 'ratio'])
printRatio('weighted', delays, weightOf)
printRatio('unweighted', delays)
const states = delays.map((all) => all.filter(({ kind }) => kind !== 'other'))
printRatio('sell-outs, reopenings, weighted', states, weightOf)
printRatio('sell-outs, reopenings, unweighted', states)
for (const priority of WATCH_PRIORITIES) {
  const own = delays.map((all) => all.filter((one) => one.priority === priority))
  printRatio(`priority ${priority}`, own)
}
printLoad('after')

function printRatio(
  name: string,
  [first = [], second = []]: readonly (readonly Detected[])[],
  weight: (one: Detected) => number = () => 1,
): void {
  const [slow, quick] = [mean(first, weight), mean(second, weight)]
  row(name, [String(first.length), slow.toFixed(1), quick.toFixed(1), (quick / slow).toFixed(3)])
}

function row(name: string, cells: readonly string[]): void {
  console.log(name.padEnd(34), ...cells.map((cell) => cell.padStart(8)))
}

function printLoad(when: string): void {
  const [load = 0] = os.loadavg()
  console.log(`load average of this machine ${when}: ${load.toFixed(1)}`)
}
