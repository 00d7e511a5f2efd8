import type { FastifyInstance } from 'fastify'
import { DAY_MS } from '../world/episodes.ts'
import { fareHistory, fareStateAt } from '../world/fare-life.ts'
import { findFlight } from '../world/flight-schedule.ts'
import { routeHistory, routeStateAt } from '../world/route-life.ts'
import { findPair, type World } from '../world/world.ts'
import { assertKnown, ControlQueryError, readInstant, readText } from './control-operations.ts'
import type { SandboxClock } from './sandbox-clock.ts'
import type { Query } from './serve-operations.ts'

/** More than a year; the answer takes milliseconds. */
const LONGEST_MS = 400 * DAY_MS

interface HistoryDeps {
  readonly world: World
  readonly clock: SandboxClock
  /** Whether the lists come from a file, so that the routes of the world are not served. */
  readonly routesFromFile: boolean
}

/**
 * The true history of fares and routes, to judge what a client made of the answers. The window is world time, after
 * `from` and up to `to`; it may lie in the future. If `to` is unset, it is the present world time.
 */
export function historyOperations(server: FastifyInstance, deps: HistoryDeps): void {
  const { world, clock, routesFromFile } = deps

  server.get('/sandbox/history/fares', (request) => {
    const query = request.query as Query
    assertKnown(query, ['flightId', 'from', 'to'])
    const flightId = readText(query, 'flightId')
    const window = readWindow(query, clock)
    const flight = findFlight(world, flightId)
    if (!flight) throw new ControlQueryError('this world has no flight with this flightId', 404)
    return {
      flightId,
      ...window,
      atFrom: fareStateAt(flight, window.from.getTime()),
      transitions: fareHistory(world, flightId, window),
    }
  })

  server.get('/sandbox/history/routes', (request) => {
    const query = request.query as Query
    assertKnown(query, ['departure', 'destination', 'from', 'to'])
    const departureId = readText(query, 'departure')
    const destinationId = readText(query, 'destination')
    const window = readWindow(query, clock)
    if (routesFromFile) {
      throw new ControlQueryError('the routes come from a file and never change', 404)
    }
    const pair = findPair(world, departureId, destinationId)
    if (!pair) throw new ControlQueryError('this world never has a route between these places', 404)
    return {
      departureId,
      destinationId,
      ...window,
      atFrom: routeStateAt(pair, window.from.getTime()),
      transitions: routeHistory(world, { departureId, destinationId }, window),
    }
  })
}

function readWindow(query: Query, clock: SandboxClock): { from: Date; to: Date } {
  const from = readInstant(query, 'from')
  const to = readInstant(query, 'to') ?? clock.worldTimeAt(clock.realNow())
  if (!from) throw new ControlQueryError('from is required: an instant of world time')
  const lengthMs = to.getTime() - from.getTime()
  if (lengthMs < 0) throw new ControlQueryError('from must not be after to')
  if (lengthMs > LONGEST_MS) {
    throw new ControlQueryError(`from and to must be at most ${LONGEST_MS / DAY_MS} days apart`)
  }
  return { from, to }
}
