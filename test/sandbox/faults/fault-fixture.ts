import type { LogPage } from '../../../sandbox/operations/request-log.ts'
import type { Sandbox, SandboxOptions } from '../../../sandbox/sandbox-server.ts'
import type { Flight, Route, VerifyResult } from '../../../sandbox/world/wire.ts'
import { type PendingResponse, sendRequest } from '../raw-client.ts'
import {
  flightsThatAre,
  type ManualClock,
  manualClock,
  START,
  startTestSandbox,
  TOKEN,
} from '../support.ts'

/** A sandbox whose world stands still, and what it unfaulted says. */
export interface FaultFixture {
  readonly sandbox: Sandbox
  readonly clock: ManualClock
  /** A flight that can be booked, and one that is sold out. */
  readonly open: string
  readonly sold: string
  readonly routes: readonly Route[]
  /** The truthful answer about both, and its flight. */
  readonly result: VerifyResult
  readonly flight: Flight
  request(
    endpoint: keyof typeof PATHS,
    params?: Record<string, string>,
    headers?: Record<string, string>,
  ): PendingResponse
  /** The log's entries after a number. */
  logAfter(seq: number): Promise<LogPage>
  close(): Promise<void>
}

const PATHS = {
  routes: '/api/v1/data/routes',
  'with-availability': '/api/v1/data/routes/with-availability',
  csv: '/api/v1/data/routes/csv',
  verify: '/api/v1/flights/fares/verify',
  booking: '/api/v1/flights/fares/book',
}

export async function prepareFixture(options: Partial<SandboxOptions> = {}): Promise<FaultFixture> {
  const clock = manualClock(START)
  const sandbox = await startTestSandbox({ clock, ...options })
  const [open = ''] = flightsThatAre(sandbox, true)
  const [sold = ''] = flightsThatAre(sandbox, false)
  const requestEndpoint: FaultFixture['request'] = (endpoint, params = {}, headers = {}) => {
    const query = new URLSearchParams({
      flightId: open,
      returnFlightId: sold,
      'residents[adults]': '0',
      'nonResidents[adults]': '2',
      accessToken: TOKEN,
      ...params,
    })
    for (const [name, value] of Object.entries(params)) if (value === '') query.delete(name)
    const search = endpoint === 'verify' || endpoint === 'booking' ? `?${query}` : ''
    const method = endpoint === 'booking' ? 'POST' : 'GET'
    return sendRequest(`${sandbox.url}${PATHS[endpoint]}${search}`, { method, headers })
  }
  const answered = async (endpoint: 'routes' | 'verify') =>
    JSON.parse((await requestEndpoint(endpoint).done).body.toString())
  const [routes, result] = [
    (await answered('routes')) as Route[],
    (await answered('verify')) as VerifyResult,
  ]
  const entry = result[open]
  if (!entry?.available) throw new Error(`${open} cannot be booked`)
  return {
    sandbox,
    clock,
    open,
    sold,
    routes,
    result,
    flight: entry.flight,
    request: requestEndpoint,
    logAfter: async (seq) => {
      const page = await fetch(`${sandbox.url}/sandbox/log?after=${seq}`)
      return (await page.json()) as LogPage
    },
    close: () => sandbox.close(),
  }
}
