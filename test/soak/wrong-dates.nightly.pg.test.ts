import http from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { listIncidents } from '../../src/views/incident-operations.ts'
import { flightFor, inDays } from '../fares/verify-server.ts'
import { startFarewatch } from '../support/child-process.ts'
import { listenLocally } from '../support/local-server.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { manyCells, resellerWith } from '../watches/watch-fixtures.ts'

const FARES = 100
/** These get wrong dates first: too few for an incident, so that their changes are recorded. */
const EARLY = 12
const isEarly = (flightId: string) => Number(flightId.slice(1)) < EARLY

/** A full minute that is one to two minutes ahead. */
function nextMinute(): Date {
  return new Date(60_000 * Math.floor(Date.now() / 60_000 + 2))
}

/** As the local time of the flight's airport. */
function localTime(at: Date): string {
  return at.toLocaleString('sv-SE', { timeZone: 'Europe/Madrid' }).slice(0, 16)
}

type DepartureOf = (flightId: string) => string | undefined

/** An upstream in which every flight is available, and departs when the test says. */
async function startUpstream() {
  const state: { departureOf: DepartureOf } = { departureOf: () => undefined }
  const server = http.createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '/', 'http://localhost')
    const id = searchParams.get('flightId') ?? ''
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(flightFor(id, state.departureOf(id))))
  })
  const { url, close } = await listenLocally(server)
  onTestFinished(close)
  return { state, url }
}

/** What readers see of every fare, without the instants of its checks. */
async function shown(db: Db): Promise<unknown[]> {
  const { rows } = await sql`
    select f.flight_id, s.pair, s.price, s.state #> '{outbound,identity}' as identity,
           s.state #> '{outbound,itinerary}' as itinerary, s.departs_at, s.expired_at, w.ended_at, w.began_at
      from fare_state s
      join tracked_fare f on f.id = s.tracked_fare_id
      join watch w on w.tracked_fare_id = f.id
     order by f.flight_id
  `.execute(db)
  return rows
}

async function records(db: Db): Promise<unknown> {
  const { rows } = await sql`
    select coalesce(c.kind, e.kind) as kind, count(*)
      from watch_change w
      left join availability_change c on c.id = w.change_id
      left join watch_event e on e.id = w.watch_event_id
     group by 1 order by 1
  `.execute(db)
  return rows
}

async function openIncidents(db: Db): Promise<string[]> {
  return (await listIncidents(db, { open: true, limit: 10 })).map(({ kind }) => kind)
}

it('an upstream that gives wrong dates for all fares ends no watch, and the next true answers correct what was recorded', {
  timeout: 600_000,
}, async ({ db, databaseUrl }) => {
  const upstream = await startUpstream()
  await resellerWith(db, manyCells(FARES))
  const env = {
    DATABASE_URL: databaseUrl,
    UPSTREAM_BASE_URL: upstream.url,
    UPSTREAM_ACCESS_TOKEN: 'wrong-dates-token',
    UPSTREAM_REQUESTS_PER_SECOND: '60',
    MIN_INTERVAL_SECONDS: '1',
    // Longer than until the false departures.
    MASS_HOLD_MINUTES: '3',
    ROUTE_SYNC_SCHEDULE: '0 0 1 1 *',
    AVAILABILITY_SYNC_SCHEDULE: '0 0 1 1 *',
    ADMIN_PORT: '0',
  }
  const workers = [0, 1].map(() => startFarewatch(['worker'], env))
  onTestFinished(() => {
    for (const { child } of workers) child.kill('SIGKILL')
  })
  const started = [{ kind: 'watch_started', count: FARES }]
  await until(
    'all fares',
    async () => JSON.stringify(await records(db)) === JSON.stringify(started),
  )
  const before = await shown(db)

  // Another identity is believed after 20 s.
  const tomorrow = inDays(31)
  upstream.state.departureOf = (id) => (isEarly(id) ? tomorrow : undefined)
  const early = [{ kind: 'identity_changed', count: EARLY }, ...started]
  await until('the early changes', async () => {
    return JSON.stringify(await records(db)) === JSON.stringify(early)
  })
  const departure = nextMinute()
  const soon = localTime(departure)
  upstream.state.departureOf = (id) => (isEarly(id) ? tomorrow : soon)
  await delay(departure.getTime() + 15_000 - Date.now())

  // The false departures have passed.
  expect(await openIncidents(db)).toEqual(['mass_identity_change'])
  expect(await records(db)).toEqual(early)

  upstream.state.departureOf = () => undefined
  const isOver = async () => (await openIncidents(db)).length === 0
  await until('the end of the incidents', isOver, 300_000)
  await until(
    'the corrections',
    async () => JSON.stringify(await shown(db)) === JSON.stringify(before),
    300_000,
  )
  expect(await records(db)).toEqual([{ kind: 'identity_changed', count: 2 * EARLY }, ...started])
  for (const { child } of workers) child.kill('SIGTERM')
  expect(await Promise.all(workers.map(({ ended }) => ended))).toEqual([0, 0])
})
