import http from 'node:http'
import { listenLocally } from '../support/local-server.ts'
import { available, flight, segment } from '../upstream/verify-fixtures.ts'

/** A simple upstream that has no flight. */
export interface VerifyServer {
  readonly url: string
  /** Flight ids, in the order of the answers. */
  readonly answered: readonly string[]
  close(): Promise<void>
}

const DAY_MS = 86_400_000

export async function startVerifyServer(): Promise<VerifyServer> {
  const answered: string[] = []
  const server = http.createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    response.setHeader('content-type', 'application/json')
    if (!pathname.endsWith('/verify')) {
      response.end('[]')
      return
    }
    const flightId = searchParams.get('flightId') ?? ''
    answered.push(flightId)
    response.end(JSON.stringify({ [flightId]: { available: false } }))
  })
  const { url, close } = await listenLocally(server)
  return { url, answered, close }
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
