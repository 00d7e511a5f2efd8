import { onTestFinished } from 'vitest'
import type { OnDemandDeps } from '../../src/fares/verify.ts'
import type { Db } from '../../src/platform/db/database.ts'
import { createApiKey } from '../../src/resellers/api-keys.ts'
import {
  type Answer as ApiAnswer,
  ask,
  bearer,
  newKeyText,
  startApi,
} from '../support/api-server.ts'
import { type Answer, answering, json } from '../upstream/answering-server.ts'
import { clientOf } from '../upstream/client-fixture.ts'

export const ONE_ADULT = 'residents[adults]=0&nonResidents[adults]=1'

/** The upstream's answer that a flight is unavailable. */
export function gone(id: string): Answer {
  return json(JSON.stringify({ [id]: { available: false } }))
}

export interface VerifyFixture {
  /** Sets the upstream's answer from now on. */
  setAnswer(answer: Answer): void
  /** Path and query of each request that the upstream received. */
  readonly asked: readonly string[]
  /** Calls the verify endpoint, with an operator's key unless another is given. */
  get(query: string, key?: string, signal?: AbortSignal): Promise<ApiAnswer>
  /** Starts a second API server on the same database and upstream. It shares no memory with the first. */
  another(): Promise<Pick<VerifyFixture, 'get'>>
}

/** The API on a database, and an upstream whose answer the test sets. */
export async function startFixture(
  db: Db,
  first: Answer = gone('1234'),
  verify: Partial<OnDemandDeps> = {},
): Promise<VerifyFixture> {
  let answer = first
  const server = await answering((request, response) => answer(request, response))
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
    setAnswer: (next) => {
      answer = next
    },
  }
}

export async function keyOf(db: Db, resellerId: number): Promise<string> {
  return (await createApiKey(db, { resellerId })).text
}
