import type { Clock } from '../platform/base/clock.ts'
import type { Logger } from '../platform/base/logger.ts'
import { startLoop } from '../platform/base/loop.ts'
import type { RunningSandbox } from './running-services.ts'

/** What the script says of one flight or route. */
export interface RivalReport {
  readonly what: 'sold out' | 'open again' | 'route gone' | 'new route'
  /** The id of the flight, or those of the places of the route. */
  readonly of: string
}

type OnReport = (report: RivalReport) => void

const EVERY_MS = 15_000

type Answer = Readonly<Record<string, { readonly available?: boolean }>>

interface Route {
  readonly departure: { readonly id: string }
  readonly destination: { readonly id: string }
}

/**
 * A script as one writes it in an afternoon, for comparison: it asks the same upstream about the same flights, and reports what
 * differs from the answer before. To it an error is "not available", and half of a list is a list. Returns one pass of it.
 */
export function createRival(
  { url, token }: RunningSandbox,
  flights: readonly string[],
  onReport: OnReport,
): () => Promise<void> {
  const known = new Map<string, boolean>()
  let routes = new Set<string>()
  const ask = async (path: string): Promise<unknown> =>
    (await fetch(`${url}/api/v1/${path}`)).json()

  return async () => {
    for (const id of flights) {
      const query = `flightId=${id}&residents[adults]=0&nonResidents[adults]=1&accessToken=${token}`
      const answer = await ask(`flights/fares/verify?${query}`).catch(() => ({}))
      const isOpen = (answer as Answer)[id]?.available === true
      if (isOpen !== (known.get(id) ?? isOpen)) {
        onReport({ what: isOpen ? 'open again' : 'sold out', of: id })
      }
      known.set(id, isOpen)
    }
    const list = (await ask('data/routes').catch(() => [])) as Route[]
    const now = new Set(list.map((route) => `${route.departure.id}-${route.destination.id}`))
    if (routes.size > 0) {
      for (const of of routes.difference(now)) onReport({ what: 'route gone', of })
      for (const of of now.difference(routes)) onReport({ what: 'new route', of })
    }
    routes = now
  }
}

interface RivalDeps {
  readonly clock: Clock
  readonly log: Logger
  readonly onReport: OnReport
}

/** Runs the script until it is stopped. */
export function startRival(
  sandbox: RunningSandbox,
  flights: readonly string[],
  { clock, log, onReport }: RivalDeps,
): { stop(): Promise<void> } {
  const pass = createRival(sandbox, flights, onReport)
  const run = () => pass().then(() => undefined)
  return startLoop({ name: 'rival', atMostMs: EVERY_MS, run }, { clock, log, random: Math.random })
}
