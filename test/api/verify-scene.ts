import { onTestFinished } from 'vitest'
import type { Db } from '../../src/db/database.ts'
import { createApiKey } from '../../src/resellers/api-keys.ts'
import type { OnDemandDeps } from '../../src/verify/on-demand/on-demand.ts'
import { type Answer, ask, bearer, newKeyText, startApi } from '../support/api-server.ts'
import { answering, json, type Answer as Saying } from '../upstream/answering-server.ts'
import { clientOf } from '../upstream/client-fixture.ts'

export const ONE_ADULT = 'residents[adults]=0&nonResidents[adults]=1'

/** What makes nothing unknown of a flight: it is gone. */
export function gone(id: string): Saying {
  return json(JSON.stringify({ [id]: { available: false } }))
}

export interface Scene {
  /** What the upstream says from now on. */
  say(answer: Saying): void
  /** Path and query of what the upstream was asked. */
  readonly asked: readonly string[]
  /** Asks the API; as an operator unless a key is given. */
  get(query: string, key?: string, signal?: AbortSignal): Promise<Answer>
  /** Another server of the API on the same database and the same upstream, as another process would be. */
  another(): Promise<Pick<Scene, 'get'>>
}

/** The API on a database, and an upstream whose answer a test may change. */
export async function scene(
  db: Db,
  answer: Saying = gone('1234'),
  verify: Partial<OnDemandDeps> = {},
): Promise<Scene> {
  let say = answer
  const server = await answering((request, response) => say(request, response))
  onTestFinished(() => server[Symbol.asyncDispose]())
  const key = await newKeyText(db)
  const start = async () => {
    const { client } = clientOf(server.url, { limits: { verifyDeadlineMs: 2_000 } })
    onTestFinished(() => client.close())
    const base = await startApi(db, { verify: { upstream: client, ...verify } })
    const path = `${base}/api/v1/flights/fares/verify`
    return {
      get: (query: string, own = key, signal: AbortSignal | null = null) =>
        ask(`${path}?${query}`, { headers: bearer(own), signal }),
    }
  }
  return {
    ...(await start()),
    another: start,
    asked: server.requests,
    say: (next) => {
      say = next
    },
  }
}

export async function keyOf(db: Db, resellerId: number): Promise<string> {
  return (await createApiKey(db, { resellerId })).text
}
