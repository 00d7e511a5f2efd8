import http from 'node:http'
import type { Route } from '../../src/upstream/route-list.ts'
import { inDays } from '../fares/verify-server.ts'
import { listenLocally } from '../support/local-server.ts'
import { available, flight, segment } from '../upstream/verify-fixtures.ts'

/** An upstream whose lists and flights the test sets and whose answers the test can delay. */
export interface ChaosUpstream {
  readonly url: string
  /** All requests so far. `of` is a flight id or the path of a list. */
  readonly requests: readonly { readonly of: string; readonly atMs: number }[]
  /** Sets the routes of both lists. */
  serve(routes: readonly Route[]): void
  /** Sets the flights that are available; all others are not. */
  sell(flightIds: readonly string[]): void
  /** Delays the answers to new requests for these flights. The content of an answer is fixed when its request arrives. */
  hold(flightIds: readonly string[]): void
  /** Sends the delayed answers and delays no more. */
  release(): void
  requestsFor(flightId: string): number
  close(): Promise<void>
}

const LISTS = '/api/v1/data/'

export async function startChaosUpstream(routes: readonly Route[]): Promise<ChaosUpstream> {
  const requests: { of: string; atMs: number }[] = []
  const state = { list: JSON.stringify(routes), bookable: [''], held: [''] }
  const waiting: (() => void)[] = []
  const server = http.createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    const flightId = searchParams.get('flightId') ?? ''
    const isList = pathname.startsWith(LISTS)
    requests.push({ of: isList ? pathname : flightId, atMs: performance.now() })
    const body = isList ? state.list : JSON.stringify(answerOf(flightId, state.bookable))
    const answer = () => {
      response.setHeader('content-type', 'application/json')
      response.end(body)
    }
    if (!isList && state.held.includes(flightId)) waiting.push(answer)
    else answer()
  })
  const { url, close } = await listenLocally(server)
  return {
    url,
    requests,
    serve: (given) => {
      state.list = JSON.stringify(given)
    },
    sell: (flightIds) => {
      state.bookable = [...flightIds]
    },
    hold: (flightIds) => {
      state.held = [...flightIds]
    },
    release: () => {
      state.held = []
      for (const answer of waiting.splice(0)) answer()
    },
    requestsFor: (flightId) => requests.filter(({ of }) => of === flightId).length,
    close,
  }
}

/** A direct flight 30 days ahead: a fare expires when its flight has departed. */
function answerOf(id: string, bookable: readonly string[]): object {
  if (!bookable.includes(id)) return { [id]: { available: false } }
  const departure = inDays(30)
  const dates = { departure, arrival: departure.replace('08:00', '09:30') }
  const leg = segment({ dates })
  const { from, to, duration } = leg
  return available({ ...flight(), from, to, legs: [leg], dates, duration, id: Number(id) }, id)
}
