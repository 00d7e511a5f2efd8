import { hash } from 'node:crypto'
import type { Sandbox } from '../../sandbox/sandbox-server.ts'
import { verifyFares } from '../../sandbox/verify-fares.ts'
import { DAY_MS, HOUR_MS } from '../../sandbox/world/episodes.ts'
import { fareHistory } from '../../sandbox/world/fare-life.ts'
import { routesAt, routesWithAvailabilityAt } from '../../sandbox/world/route-life.ts'
import { searchDeparting } from '../../sandbox/world/story.ts'
import type { App } from '../app/app.ts'
import type { ClaimedFare } from '../fares/check.ts'
import { endDeparted, nextDepartureMs } from '../fares/end.ts'
import { writeBatch } from '../fares/record.ts'
import { ROUTE_LISTS, type RouteListName } from '../platform/base/kinds.ts'
import { type Db, openDatabase, sql } from '../platform/db/database.ts'
import { inTransaction, selectOne } from '../platform/db/transaction.ts'
import { syncList } from '../routes/sync.ts'
import { FARES_PROVIDER } from '../upstream/fares/fares-provider.ts'
import { readHabits } from '../upstream/flights/answer-habits.ts'
import type { Observation } from '../upstream/observation.ts'
import type { Question } from '../upstream/question.ts'
import { QUESTION_SELECTION } from '../upstream/question-sql.ts'
import type { RouteListBody } from '../upstream/route-list.ts'
import { importWatchList } from '../watches/import/import-watch-list.ts'
import { rowsOf } from '../watches/rows/watch-row.ts'
import { cellsOfInput } from '../watches/watch-input.ts'
import { ensureDemoReseller, seedDemoWatches } from './demo.ts'
import {
  hasSimulatedClock,
  removeSimulatedClock,
  type SimulatedClock,
  simulateClock,
} from './simulated-clock.ts'

/** Watches of flights that depart within the history. */
const DEPARTED = { list: 'departed', flights: 24 }
/**
 * How often all fares are checked, and the lists fetched; and both on the last day: as often as keeps the first start short.
 * A change that a check shows is confirmed by the next one.
 */
const [FARES_MS, LISTS_MS, LAST_MS] = [12 * HOUR_MS, 48 * HOUR_MS, 4 * HOUR_MS]
/**
 * On the last day, of which the status shows the delays, each fare is checked shortly before and after it changes, and
 * confirmed when that is due.
 */
const NEAR_MS = 30_000
/** A confirmation that is due later than this waits for the next check, and the history ends so close to the present. */
const CONFIRMED_MS = 60_000
/** How late the answer to a check is. */
const LATENCY_MS = 40

interface HistoryArgs {
  readonly app: App
  readonly sandbox: Pick<Sandbox, 'world' | 'now'>
  readonly days: number
  readonly signal: AbortSignal
  /** Called before it takes its time. */
  readonly begin: () => void
}

interface Playing extends Pick<HistoryArgs, 'app' | 'signal'>, Pick<Sandbox, 'world'> {
  readonly db: Db
  readonly clock: SimulatedClock
}

/**
 * Makes up the history of a new demo, in seconds: plays the days before its first start, in which the world runs as fast as
 * the calendar, through the syncs, the checks and the ends of fares, with a simulated clock and without requests. It
 * ends now, so that the work goes on without a gap; the roll-up of the days is the first work.
 *
 * Nothing may work in the database yet: rows are in the order of their time. Safe to run twice: a database with a list of
 * either kind has its history already, and what a killed process has left is continued.
 */
export async function makeUpHistory(args: HistoryArgs): Promise<void> {
  const { app, sandbox, days, signal } = args
  const { db: own } = app.database
  if (!(await hasSimulatedClock(own)) && (days === 0 || (await isUsed(own)))) return
  args.begin()
  const { DATABASE_URL: url } = app.config
  const opened = openDatabase({
    url,
    applicationName: 'farewatch history',
    log: app.log,
    maxConnections: 1,
  })
  try {
    const clock = await simulateClock(opened)
    const { db } = opened
    const since = new Date(app.clock.now().getTime() - days * DAY_MS)
    await sql`insert into demo (history_since, history_until) values (${since}, ${since}) on conflict do nothing`.execute(
      db,
    )
    await play({ app, world: sandbox.world, db, clock, signal }, sandbox.now())
    await inTransaction(db, removeSimulatedClock)
  } finally {
    await opened.close()
  }
}

/**
 * For another upstream in the same home: nothing is made up any more, and no flight of the sandbox is offered. It writes
 * only after a demo: a process starts on a database that refuses writes, too.
 */
export async function leaveDemo(db: Db): Promise<void> {
  const offered = await db.selectFrom('demo').select('flight_id').executeTakeFirst()
  if (offered?.flight_id) await sql`update demo set flight_id = null`.execute(db)
  if (await hasSimulatedClock(db)) await inTransaction(db, removeSimulatedClock)
}

async function isUsed(db: Db): Promise<boolean> {
  const { used } = await selectOne(
    sql<{ used: boolean }>`
      select exists (select from sync_run) or exists (select from watch_list) as used
    `,
    db,
  )
  return used
}

async function play(playing: Playing, worldNow: Date): Promise<void> {
  const { app, db, clock, world, signal } = playing
  const { since, until } = await db
    .selectFrom('demo')
    .select(['history_since as since', 'history_until as until'])
    .executeTakeFirstOrThrow()
  if (since === null || until === null) return
  await clock.set(until.getTime())
  if (until.getTime() === since.getTime()) {
    await seedDemoWatches(db, world, worldNow)
    await watchDeparting(playing, since)
  }
  const now = () => app.clock.now().getTime()
  const lastDayMs = now() - DAY_MS
  for (let [atMs, listsMs] = [until.getTime(), 0]; ; ) {
    signal.throwIfAborted()
    const isLast = atMs >= lastDayMs
    await clock.set(atMs)
    if (isLast || atMs - listsMs >= LISTS_MS) {
      await syncLists(playing)
      listsMs = atMs
    }
    await check(playing, await listFares(db), atMs)
    if (now() - atMs < CONFIRMED_MS) break
    const nextMs = isLast ? atMs + LAST_MS : Math.min(atMs + FARES_MS, lastDayMs)
    atMs = Math.min(nextMs, now())
    await playUntil(playing, atMs, isLast)
  }
}

async function watchDeparting({ app, db, world }: Playing, since: Date): Promise<void> {
  const { id: resellerId } = await ensureDemoReseller(db)
  const days = Math.ceil((app.clock.now().getTime() - since.getTime()) / DAY_MS)
  const flights = searchDeparting(world, since, { n: DEPARTED.flights, days })
  const rows = flights.map((flightId) =>
    cellsOfInput(DEPARTED.list, {
      reference: flightId,
      flightId,
      passengers: { nonResidents: { adults: 1 } },
    }),
  )
  await importWatchList(db, { resellerId, source: rowsOf('the demo', rows) })
}

async function syncLists({ app, db, clock, world, signal }: Playing): Promise<void> {
  const fetchRouteListIfModified = async (list: RouteListName): Promise<RouteListBody> => {
    const routes = list === 'routes' ? routesAt : routesWithAvailabilityAt
    const body = Buffer.from(JSON.stringify(routes(world, clock.now())))
    return {
      chunks: [body],
      bytes: body.length,
      contentHash: hash('sha256', body),
      downloadMs: LATENCY_MS,
      validators: { etag: null, lastModified: null },
    }
  }
  const deps = { ...app.syncDeps, db, upstream: { fetchRouteListIfModified } }
  for (const list of ROUTE_LISTS) await syncList(deps, { list }, signal)
}

type Fare = Pick<ClaimedFare, 'fareId' | 'question'>

async function listFares(db: Db): Promise<Fare[]> {
  const { rows } = await sql<Question & Pick<Fare, 'fareId'>>`
    select f.id as "fareId", ${sql.join(QUESTION_SELECTION)}
      from fare_schedule q
      join tracked_fare f on f.id = q.tracked_fare_id
     order by f.id
  `.execute(db)
  return rows.map(({ fareId, ...question }) => ({ fareId, question }))
}

/** Until an instant: on the last day the changes of the fares, and the departures. */
async function playUntil(playing: Playing, untilMs: number, isLast: boolean): Promise<void> {
  const { db, clock, world } = playing
  const window = { from: clock.now(), to: new Date(untilMs) }
  const changes = (isLast ? await listFares(db) : []).flatMap((fare) =>
    fareHistory(world, fare.question.flightId, window).map(({ at }) => ({ fare, at })),
  )
  const checks = changes
    .flatMap(({ fare, at }) => [-NEAR_MS, NEAR_MS].map((ms) => ({ fare, atMs: at.getTime() + ms })))
    .filter(({ atMs }) => atMs > window.from.getTime() && atMs < untilMs)
    .sort((a, b) => a.atMs - b.atMs)
  for (const { fare, atMs } of checks) {
    await endDepartures(playing, atMs)
    await check(playing, [fare], atMs)
  }
  await endDepartures(playing, untilMs)
}

async function endDepartures({ app, db, clock, signal }: Playing, untilMs: number): Promise<void> {
  for (;;) {
    const waitMs = await nextDepartureMs(db)
    const atMs = clock.now().getTime() + Math.max(0, waitMs ?? Number.POSITIVE_INFINITY)
    if (atMs > untilMs) return
    await clock.set(Math.ceil(atMs))
    await endDeparted({ ...app.verifyDeps, db }, signal)
  }
}

/** Asks about fares at an instant, and again about those that wait for a confirmation; what lies ahead is left to the workers. */
async function check(playing: Playing, fares: readonly Fare[], atMs: number): Promise<void> {
  const { app, db, clock } = playing
  // A confirmation may have set the clock further.
  const beganMs = Math.max(atMs, clock.now().getTime())
  let [asked, askedMs] = [fares, beganMs]
  while (asked.length > 0 && askedMs <= app.clock.now().getTime()) {
    const askedAt = new Date(askedMs)
    const why = askedMs === beganMs ? 'scheduled' : 'confirmation'
    const checks = asked.map(({ fareId, question }) => {
      return { fareId, askedAt, why, observation: observe(playing, question, askedAt) } as const
    })
    await clock.set(askedMs + LATENCY_MS)
    const observations = checks.map(({ observation }) => observation)
    const batch = { checks, late: [], blocked: [] }
    const judged = { batch, habits: await readHabits(db, observations) }
    await writeBatch({ db, rules: app.verifyDeps.rules }, judged, null)
    if (askedMs < app.clock.now().getTime() - DAY_MS - HOUR_MS) return
    const due = await findConfirmations(db)
    asked = fares.filter(({ fareId }) => due.has(fareId))
    askedMs = Math.max(askedMs + 1, ...due.values())
  }
}

/** When the fares are due that wait for a confirmation. */
async function findConfirmations(db: Db): Promise<Map<number, number>> {
  const { rows } = await sql<{ fareId: number; dueAt: Date }>`
    select tracked_fare_id as "fareId", lane_due_at as "dueAt"
      from fare_schedule
     where lane = 'confirmation' and lane_due_at < clock_timestamp() + make_interval(secs => ${CONFIRMED_MS / 1_000})
  `.execute(db)
  return new Map(rows.map(({ fareId, dueAt }) => [fareId, dueAt.getTime()]))
}

/** What farewatch reads of the answer that the sandbox would give. */
function observe({ app, world }: Playing, question: Question, at: Date): Observation {
  const { flightId, returnFlightId, passengers } = question
  const body = JSON.stringify(verifyFares(world, at, { flightId, returnFlightId, ...passengers }))
  const { verifyRequest, readAnswer, parserVersion } = FARES_PROVIDER
  return {
    ...readAnswer([Buffer.from(body)], question, app.syncDeps.scrub),
    ageSeconds: 0,
    evidence: {
      body,
      status: 200,
      latencyMs: LATENCY_MS,
      requestFingerprint: hash('sha256', verifyRequest(question).path),
      parserVersion,
    },
  }
}
