import http from 'node:http'
import { flightFor } from '../fares/verify-server.ts'
import { manyRoutes, route } from '../routes/sync-fixtures.ts'
import { listenLocally } from '../support/local-server.ts'

/** A time in which a flight is sold out, in milliseconds since 1970. */
export interface Loss {
  readonly flightId: string
  readonly fromMs: number
  readonly toMs: number
}

/** The flights of a fare: the outbound flight, and perhaps a return flight. */
export type Legs = readonly string[]

export interface PlanArgs {
  readonly fares: readonly Legs[]
  readonly startMs: number
  readonly endMs: number
  readonly random: () => number
}

/** Eight losses a minute of 200 fares: far fewer than a mass loss. */
const EVERY_MS = 7_500
const WARM_UP_MS = 20_000
/** The time between two losses of a fare: one that undoes a return of the last ten minutes takes three answers 30 s apart. */
const PAUSE_MS = 11 * 60_000

/**
 * Plans losses of 5 to 30 s and of 60 to 120 s. Where the outbound flight of a pair returns, its return flight often sells
 * out at that moment: the pair must not become bookable.
 */
export function planLosses({ fares, startMs, endMs, random }: PlanArgs): Loss[] {
  const losses: Loss[] = []
  const freeAt = new Map<Legs, number>()
  for (let fromMs = startMs + WARM_UP_MS; fromMs < endMs; fromMs += EVERY_MS) {
    const free = fares.filter((legs) => (freeAt.get(legs) ?? 0) <= fromMs)
    const legs = free[Math.floor(random() * free.length)]
    const [flightId, returnFlightId] = legs ?? []
    if (legs === undefined || flightId === undefined) continue
    const lastsMs = random() < 0.25 ? 5_000 + random() * 25_000 : 60_000 + random() * 60_000
    const toMs = fromMs + lastsMs
    losses.push({ flightId, fromMs, toMs })
    const followed = returnFlightId !== undefined && random() < 0.7
    if (followed) losses.push({ flightId: returnFlightId, fromMs: toMs, toMs: toMs + 60_000 })
    freeAt.set(legs, toMs + (followed ? 60_000 : 0) + PAUSE_MS)
  }
  return losses
}

/** A route that is listed for some time. */
export interface ListedRoute {
  readonly pair: string
  readonly fromMs: number
  readonly toMs: number
}

/** Plans ten routes that come one after the other, each for half of the time: of more, a list after an outage is held. */
export function planRoutes({ startMs, endMs }: Pick<PlanArgs, 'startMs' | 'endMs'>): ListedRoute[] {
  const routes: ListedRoute[] = []
  for (let fromMs = startMs + WARM_UP_MS; fromMs < endMs; fromMs += (endMs - startMs) / 10) {
    const toMs = fromMs + (endMs - startMs) / 2
    routes.push({ pair: `HUB-N${routes.length}`, fromMs, toMs })
  }
  return routes
}

/**
 * An upstream in which a flight is sold out during its planned losses, and available at one price otherwise. Its lists have
 * the planned routes, and others that stay.
 */
export async function startDrivenUpstream(
  losses: () => readonly Loss[],
  planned: () => readonly ListedRoute[],
) {
  const answers: Answered[] = []
  const server = http.createServer((request, response) => {
    const { searchParams, pathname } = new URL(request.url ?? '/', 'http://localhost')
    const now = Date.now()
    if (pathname.startsWith('/api/v1/data/routes')) {
      const listed = planned().filter(({ fromMs, toMs }) => fromMs <= now && now < toMs)
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify([...manyRoutes(40), ...listed.map(({ pair }) => route(pair))]))
      return
    }
    const ids = ['flightId', 'returnFlightId'].flatMap((name) => searchParams.get(name) ?? [])
    answers.push({ ids, atMs: now })
    const entries = ids.map((id) =>
      lossAt(losses(), [id], now) === undefined ? flightFor(id) : { [id]: { available: false } },
    )
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(Object.assign({}, ...entries)))
  })
  const { url, close } = await listenLocally(server)
  return { url, answers, close }
}

/** When the upstream answered what of flights, before a proxy could spoil it. */
export interface Answered {
  readonly ids: readonly string[]
  readonly atMs: number
}

/** A record of the feed, with the flights of its fare. */
export interface DrivenRecord {
  readonly legs: Legs
  readonly kind: string
  /** Of the fare since then. */
  readonly pair: string
  readonly detectedMs: number
  readonly recordedMs: number
}

/** A call takes less time than this. */
const CALL_MS = 3_000

/**
 * The records that contradict the plan: a loss that no flight had when its first answer was given, a gain while a flight
 * was sold out, a first sight of either, or any other change of flights whose prices and times never change.
 */
export function falseRecords(losses: readonly Loss[], records: readonly DrivenRecord[]) {
  return records.filter(({ legs, kind, pair, detectedMs }) => {
    const wasLost = losses.some(
      ({ flightId, fromMs, toMs }) =>
        legs.includes(flightId) && fromMs <= detectedMs + CALL_MS && toMs >= detectedMs,
    )
    const wasLostThroughout = losses.some(
      ({ flightId, fromMs, toMs }) =>
        legs.includes(flightId) && fromMs <= detectedMs && toMs >= detectedMs + CALL_MS,
    )
    if (kind === 'became_unavailable') return !wasLost
    if (kind === 'became_available') return wasLostThroughout
    if (kind === 'first_seen') return pair === 'bookable' ? wasLostThroughout : !wasLost
    return kind !== 'legs_changed' || legs.length < 2
  })
}

/** The losses that a bookable fare had, each with the time until it was recorded; undefined if it was not. */
export function recordedLosses(
  { fares, endMs }: Pick<PlanArgs, 'fares' | 'endMs'>,
  losses: readonly Loss[],
  records: readonly DrivenRecord[],
) {
  return losses.flatMap(({ flightId, fromMs, toMs }) => {
    const legs = fares.find((one) => one.includes(flightId)) ?? []
    // The pair was not bookable before: another flight of it was sold out.
    if (lossAt(losses, legs, fromMs - 1) !== undefined) return []
    const record = records.find(
      ({ legs: [outbound], kind, detectedMs }) =>
        kind === 'became_unavailable' &&
        outbound === legs[0] &&
        detectedMs > fromMs - CALL_MS &&
        detectedMs <= toMs,
    )
    const lastsMs = Math.min(toMs, endMs) - fromMs
    return [{ flightId, fromMs, lastsMs, tookMs: record && record.recordedMs - fromMs }]
  })
}

function lossAt(losses: readonly Loss[], flightIds: Legs, atMs: number): Loss | undefined {
  return losses.find(
    ({ flightId, fromMs, toMs }) => flightIds.includes(flightId) && fromMs <= atMs && atMs < toMs,
  )
}
