import type { FastifyInstance } from 'fastify'
import { DAY_MS } from '../world/episodes.ts'
import { fareHistory, fareStateAt } from '../world/fare-life.ts'
import { findFlight } from '../world/flight-schedule.ts'
import { routeHistory, routeStateAt } from '../world/route-life.ts'
import { findPair, type World } from '../world/world.ts'
import { assertKnown, ControlQueryError, readInstant, readText } from './control-endpoints.ts'
import type { Query } from './fare-endpoints.ts'
import type { SandboxClock } from './sandbox-clock.ts'

/** Long enough for a year, short enough to answer at once. */
const LONGEST_MS = 400 * DAY_MS

export interface HistoryDeps {
  readonly world: World
  readonly clock: SandboxClock
  /** Whether the lists are a file's: the world's routes are then not what is served. */
  readonly routesOfFile: boolean
}

/**
 * What truly happens in the world, for who wants to judge what was made of the answers. The window is world
 * time, from before `from` to at `to`, the past as well as the future; `to` is the world's now unless given.
 */
export function historyEndpoints(server: FastifyInstance, deps: HistoryDeps): void {
  const { world, clock, routesOfFile } = deps

  server.get('/sandbox/history/fares', (request) => {
    const query = request.query as Query
    assertKnown(query, ['flightId', 'from', 'to'])
    const flightId = readText(query, 'flightId')
    const window = readWindow(query, clock)
    const flight = findFlight(world, flightId)
    if (!flight) throw new ControlQueryError('flightId is no flight of this world', 404)
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
    if (routesOfFile) {
      throw new ControlQueryError('the routes come from a file, and never change', 404)
    }
    const pair = findPair(world, departureId, destinationId)
    if (!pair)
      throw new ControlQueryError('no route between these places is ever flown in this world', 404)
    return {
      departureId,
      destinationId,
      ...window,
      atFrom: routeStateAt(pair, window.from.getTime()),
      transitions: routeHistory(world, { departureId, destinationId }, window),
    }
  })
}

/** Serialized as ISO 8601. */
function readWindow(query: Query, clock: SandboxClock): { from: Date; to: Date } {
  const from = readInstant(query, 'from')
  const to = readInstant(query, 'to') ?? clock.worldTimeAt(clock.realNow())
  if (!from) throw new ControlQueryError('from is required: an instant of the world')
  const lengthMs = to.getTime() - from.getTime()
  if (lengthMs < 0) throw new ControlQueryError('from must not be after to')
  if (lengthMs > LONGEST_MS) {
    throw new ControlQueryError(`from and to lie at most ${LONGEST_MS / DAY_MS} days apart`)
  }
  return { from, to }
}
