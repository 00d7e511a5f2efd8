import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Route } from '../../src/upstream/route-list.ts'
import { available, flight, hop } from '../upstream/verify-fixtures.ts'

/** An upstream whose lists and flights a test sets, and whose answers it may keep back. */
export interface ChaosUpstream {
  readonly url: string
  /** What was asked so far: flight ids and list paths, each with when. */
  readonly requests: readonly { readonly of: string; readonly atMs: number }[]
  /** Routes that both lists have from now on. */
  serve(routes: readonly Route[]): void
  /** Flights that can be had from now on; all others cannot. */
  sell(flightIds: readonly string[]): void
  /** Keeps back the answers about these flights that come in from now on; what they say is known when they are asked. */
  hold(flightIds: readonly string[]): void
  /** Answers what was kept back, and keeps nothing back any more. */
  release(): void
  askedOf(flightId: string): number
  close(): Promise<void>
}

const LISTS = '/api/v1/data/'
const DAY_MS = 86_400_000

export async function startChaosUpstream(routes: readonly Route[]): Promise<ChaosUpstream> {
  const requests: { of: string; atMs: number }[] = []
  const state = { list: JSON.stringify(routes), sold: [''], held: [''] }
  const waiting: (() => void)[] = []
  const server = http.createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    const flightId = searchParams.get('flightId') ?? ''
    const isList = pathname.startsWith(LISTS)
    requests.push({ of: isList ? pathname : flightId, atMs: performance.now() })
    const body = isList ? state.list : JSON.stringify(answerOf(flightId, state.sold))
    const answer = () => {
      response.setHeader('content-type', 'application/json')
      response.end(body)
    }
    if (!isList && state.held.includes(flightId)) waiting.push(answer)
    else answer()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    serve: (given) => {
      state.list = JSON.stringify(given)
    },
    sell: (flightIds) => {
      state.sold = [...flightIds]
    },
    hold: (flightIds) => {
      state.held = [...flightIds]
    },
    release: () => {
      state.held = []
      for (const answer of waiting.splice(0)) answer()
    },
    askedOf: (flightId) => requests.filter(({ of }) => of === flightId).length,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** A direct flight in a month: one that has departed would expire. */
function answerOf(id: string, sold: readonly string[]): object {
  if (!sold.includes(id)) return { [id]: { available: false } }
  const day = new Date(Date.now() + 30 * DAY_MS).toISOString().slice(0, 10)
  const dates = { departure: `${day} 08:00`, arrival: `${day} 09:30` }
  const leg = hop({ dates })
  const { from, to, duration } = leg
  return available({ ...flight(), from, to, legs: [leg], dates, duration, id: Number(id) }, id)
}
