import type { RouteListName } from '../../src/platform/base/kinds.ts'
import { createScrub } from '../../src/platform/base/secrets.ts'
import type { UpstreamCall } from '../../src/upstream/attempt.ts'
import { FARES_PROVIDER } from '../../src/upstream/fares/fares-provider.ts'
import type { Route } from '../../src/upstream/route-list.ts'
import {
  createUpstreamClient,
  type UpstreamClient,
  type UpstreamClientOptions,
} from '../../src/upstream/upstream-client.ts'
import { collectLog } from '../support/collected-log.ts'
import { fetchList } from '../support/fetch-list.ts'
import { type Answer, answering } from './answering-server.ts'
import { readAll } from './routes-fixture.ts'

/** Contains every character that an encoding may spell differently. */
export const CANARY = 'CANARY/+= &"token"%日本'

export interface ClientFixture extends AsyncDisposable {
  readonly client: UpstreamClient
  readonly calls: readonly UpstreamCall[]
  readonly logLines: readonly string[]
  /** Fetches and reads a list to its end, or to the first error. */
  pull(list?: RouteListName): Promise<Route[]>
}

/** A client whose credential is the canary. Its log is not scrubbed, so a leak would show. */
export function clientOf(
  baseUrl: string,
  options: Partial<UpstreamClientOptions> = {},
): ClientFixture {
  const calls: UpstreamCall[] = []
  const { log, lines: logLines } = collectLog('trace')
  const client = createUpstreamClient({
    provider: FARES_PROVIDER,
    baseUrl,
    accessToken: CANARY,
    scrub: createScrub([CANARY]),
    log,
    observe: (call) => calls.push(call),
    ...options,
  })
  return {
    client,
    calls,
    logLines,
    async pull(list = 'routes') {
      const body = await fetchList(client, list, { signal: new AbortController().signal })
      return (await readAll(body.chunks)).routes
    },
    [Symbol.asyncDispose]: () => client.close(),
  }
}

/** An upstream that gives every request this answer, and a client of it. */
export async function clientFor(
  answer: Answer,
  options?: Partial<UpstreamClientOptions>,
): Promise<ClientFixture & { readonly requests: readonly string[] }> {
  const server = await answering(answer)
  const fixture = clientOf(server.url, options)
  return {
    ...fixture,
    requests: server.requests,
    [Symbol.asyncDispose]: async () => {
      await fixture.client.close()
      await server[Symbol.asyncDispose]()
    },
  }
}
