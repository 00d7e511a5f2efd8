import http from 'node:http'
import { listenLocally } from '../support/local-server.ts'
import { available, flight, segment } from '../upstream/verify-fixtures.ts'

/** A simple upstream whose answers about flights a test sets, and may hold back. */
export interface VerifyServer {
  readonly url: string
  /** Flight ids, in the order of the requests and of the answers. */
  readonly asked: readonly string[]
  readonly answered: readonly string[]
  /** Flights that are available from now on; all others are not. */
  sell(flightIds: readonly string[]): void
  /** Holds back the answers about these flights from now on; others are answered at once. */
  hold(flightIds: readonly string[]): void
  /** Sends the answers that were held back, and holds back no more. */
  release(): void
  close(): Promise<void>
}

const DAY_MS = 86_400_000

export async function startVerifyServer(): Promise<VerifyServer> {
  const asked: string[] = []
  const answered: string[] = []
  let sold: readonly string[] = []
  let held: readonly string[] = []
  let waiting: (() => void)[] = []
  const server = http.createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    response.setHeader('content-type', 'application/json')
    if (!pathname.endsWith('/verify')) {
      response.end('[]')
      return
    }
    const flightId = searchParams.get('flightId') ?? ''
    // The answer is decided when the request arrives, and may be sent later.
    const body = sold.includes(flightId)
      ? flightFor(flightId)
      : { [flightId]: { available: false } }
    const answer = () => {
      answered.push(flightId)
      response.end(JSON.stringify(body))
    }
    asked.push(flightId)
    if (held.includes(flightId)) waiting.push(answer)
    else answer()
  })
  const { url, close } = await listenLocally(server)
  return {
    url,
    asked,
    answered,
    sell: (flightIds) => {
      sold = flightIds
    },
    hold: (flightIds) => {
      held = flightIds
    },
    release: () => {
      held = []
      for (const answer of waiting) answer()
      waiting = []
    },
    close,
  }
}

/** A direct flight, in a month unless another departure is given: one that has departed would expire. */
export function flightFor(id: string, departs = inDays(30)): object {
  const arrives = new Date(Date.parse(`${departs}Z`) + 5_400_000).toISOString()
  const dates = { departure: departs, arrival: arrives.slice(0, 16).replace('T', ' ') }
  const leg = segment({ dates })
  const { from, to, duration } = leg
  return available({ ...flight(), from, to, legs: [leg], dates, duration, id: Number(id) }, id)
}

/** A test may run over midnight: a flight keeps its date. */
const BEGAN_MS = Date.now()

/** The morning of a day in so many days. */
export function inDays(days: number): string {
  return `${new Date(BEGAN_MS + days * DAY_MS).toISOString().slice(0, 10)} 08:00`
}
