import type { Db } from '../../src/platform/db/database.ts'
import type { Route } from '../../src/upstream/route-list.ts'
import { type Answer, ask, bearer, newKeyText, startApi } from '../support/api-server.ts'

export const ROUTES = '/api/v1/data/routes'
export const AVAILABLE = `${ROUTES}/with-availability`
export const CSV = `${ROUTES}/csv`

export interface Reader {
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  /** Advances the clock of the server's caches. */
  pass(ms: number): void
}

/** Starts a server on a database, with a key. */
export async function readerOn(db: Db): Promise<Reader> {
  let nowMs = 0
  const base = await startApi(db, { nowMs: () => nowMs })
  const key = bearer(await newKeyText(db))
  return {
    get: (path, headers = {}) => ask(`${base}${path}`, { headers: { ...key, ...headers } }),
    pass: (ms) => {
      nowMs += ms
    },
  }
}

/** The routes of a JSON list, as `PMI-MAD`. */
export function pairsIn({ text }: Answer): string[] {
  return (JSON.parse(text) as Route[]).map((one) => `${one.departure.id}-${one.destination.id}`)
}

export function tagOf({ headers }: Answer): string {
  return headers.get('etag') ?? ''
}
