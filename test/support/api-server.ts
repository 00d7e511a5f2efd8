import { inject, onTestFinished } from 'vitest'
import { API_DOCUMENT } from '../../src/app/api-document.ts'
import { API_OPERATIONS, type ApiDeps } from '../../src/app/api-operations.ts'
import { statesFor } from '../../src/app/api-server.ts'
import { countContents, markForDeletion } from '../../src/app/delete-reseller.ts'
import { queueControl } from '../../src/app/health-deps.ts'
import type { TargetRules } from '../../src/delivery/endpoints/endpoint-settings.ts'
import { createSealer, type Sealer } from '../../src/delivery/endpoints/sealer.ts'
import { createOnDemand, type OnDemandDeps } from '../../src/fares/verify.ts'
import {
  createFeedHeads,
  type FeedName,
  listenForHeads,
  readHeadsOf,
} from '../../src/feeds/feed-heads.ts'
import { createStreams, type StreamsDeps } from '../../src/feeds/stream/streams.ts'
import { createStatusHistories } from '../../src/health/status-history-operations.ts'
import { readFreshness, type WorkState } from '../../src/health/status-operations.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import type { Logger } from '../../src/platform/base/logger.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { isDatabaseUnavailable } from '../../src/platform/db/database-health.ts'
import type { Listener } from '../../src/platform/db/listener.ts'
import { createApi } from '../../src/platform/http/api.ts'
import type { RequestLimitOptions } from '../../src/platform/http/request-limits.ts'
import { listen } from '../../src/platform/http/server.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { createQueueSystem } from '../../src/platform/queue/queue-system.ts'
import { createApiKey, type NewApiKey } from '../../src/resellers/api-keys.ts'
import { createKeyAccess } from '../../src/resellers/check-keys.ts'
import { createTransactions } from '../../src/resellers/kept-answers.ts'
import { GUARD_LIMITS } from '../../src/routes/guard.ts'
import { createRenderedLists } from '../../src/routes/read/export-routes.ts'
import { disableReseller, enableReseller } from '../../src/watches/change-watches.ts'
import { NO_CHATS } from '../delivery/message-fixtures.ts'
import { gone, observation, RULES } from '../fares/fare-fixtures.ts'
import { databaseUrl } from './postgres-server.ts'
import { requestLimits } from './request-limits.ts'
import { silentLog } from './silent-log.ts'

export const PUBLIC_URL = 'https://fares.example'
/** Encrypts the endpoints of the tests. */
export const TEST_SEALER = createSealer('the encryption key of the tests')

export interface ApiArgs {
  /** Default: any free port. */
  readonly port?: number
  readonly requestsPerSecond?: number
  readonly requestLimits?: Partial<RequestLimitOptions>
  /** False: a request that would wait for a new record gets its answer at once. */
  readonly waits?: false
  /** Called for each poll of the feeds that requests wait for. */
  readonly onFeedPoll?: () => void
  /** Default: there are no notifications. */
  readonly listener?: Listener
  /** By default, a stream ends when it has sent what there is. */
  readonly streams?: Partial<StreamsDeps>
  readonly log?: Logger
  readonly sealer?: Sealer
  /** Default: no e-mail is sent. */
  readonly email?: TargetRules['email']
  /** Networks that webhooks may reach, in addition to public addresses. */
  readonly allowedNetworks?: readonly string[]
  /** Default: what does the work is not known. */
  readonly readWork?: () => Promise<WorkState>
  /** The clock of the key cache, in milliseconds. Default: performance.now. */
  readonly nowMs?: () => number
  /** Overrides for verify. By default every fare is unavailable and the budget is 1,000 requests a second. */
  readonly verify?: Partial<OnDemandDeps>
}

/** Starts the complete API on a free port and closes it after the test. Returns its base URL. */
export async function startApi(db: Db, args: ApiArgs = {}): Promise<string> {
  const { base, close } = await openApi(db, args)
  onTestFinished(close)
  return base
}

export async function openApi(
  db: Db,
  args: ApiArgs = {},
): Promise<{ readonly base: string; close(): Promise<void> }> {
  const { requestsPerSecond = 1_000_000, log = silentLog } = args
  const nowMs = args.nowMs ?? (() => performance.now())
  const access = createKeyAccess({ db, log, nowMs })
  const onDemand = createOnDemand({
    db,
    clock: systemClock,
    upstream: {
      verifyFares: async ({ returnFlightId }) =>
        observation(gone, returnFlightId === null ? null : gone),
    },
    rules: { ...RULES, requestsPerSecond: 1_000 },
    metrics: createMetrics(),
    log,
    ...args.verify,
  })
  const queue = await queueIn(db)
  const feedHeads = createFeedHeads({
    readHeads: (feeds: readonly FeedName[]) => {
      args.onFeedPoll?.()
      return readHeadsOf(db, feeds)
    },
    everyMs: 20,
    ...(args.waits === false ? { maxWaiting: 0 } : {}),
  })
  const streams = createStreams({
    heads: feedHeads,
    log,
    metrics: createMetrics(),
    states: statesFor(db),
    lasting: false,
    random: () => 0,
    ...args.streams,
  })
  if (args.listener !== undefined) listenForHeads(feedHeads, args.listener)
  args.listener?.subscribe('key', () => {
    access.forget()
    void streams.reauthorize()
  })
  const server = createApi({
    log,
    isUnavailable: isDatabaseUnavailable,
    operations: API_OPERATIONS,
    deps: {
      db,
      publicUrl: PUBLIC_URL,
      disableReseller,
      enableReseller,
      countContents,
      markForDeletion,
      routeLists: createRenderedLists({ db, nowMs }),
      queues: queueControl({ db, clock: systemClock }, queue),
      onDemand,
      clock: systemClock,
      log,
      scrub: (text) => text,
      guard: GUARD_LIMITS,
      requestsPerSecond: 5,
      massHoldMs: 600_000,
      statusHistories: createStatusHistories(nowMs),
      ...(args.readWork === undefined ? {} : { readWork: args.readWork }),
      minRecheckSeconds: 60,
      feedHeads,
      streams,
      version: '0.0.0',
      sealer: args.sealer ?? TEST_SEALER,
      targetRules: {
        urls: { allowHttp: false, allowedNetworks: args.allowedNetworks ?? [] },
        chatHosts: { ...NO_CHATS, slack: ['hooks.slack.com'], telegram: ['api.telegram.org'] },
        email: args.email ?? { smtpUrl: undefined, from: undefined },
      },
    },
    document: API_DOCUMENT,
    readFreshness: () => readFreshness({ db, clock: systemClock }),
    access,
    transactions: createTransactions<ApiDeps>(),
    ...requestLimits(requestsPerSecond),
    ...args.requestLimits,
  })
  server.addHook('preClose', () => onDemand.close())
  server.addHook('preClose', async () => feedHeads.close())
  server.addHook('preClose', async () => streams.close())
  server.addHook('onClose', () => access.allUsesRecorded())
  server.addHook('onClose', () => queue.close({ graceMs: 1_000 }))
  const base = await listen(server, {
    host: '127.0.0.1',
    port: args.port ?? 0,
    setting: 'API_PORT',
  })
  return { base, close: () => server.close() }
}

/** The queue in the database. It connects at its first use. A database that does not answer has none. */
export async function queueIn(db: Db) {
  const asked = sql<{ name: string }>`select current_database() as name`.execute(db)
  const { rows } = await asked.catch(() => ({ rows: [] }))
  const url = databaseUrl(inject('postgresUrl'), rows[0]?.name ?? '')
  const connection = { kind: 'postgres', url } as const
  return createQueueSystem({ connection, log: silentLog, scrub: (text) => text })
}

/** Creates a key, by default for an operator. Returns its text. */
export async function newKeyText(db: Db, args: Partial<NewApiKey> = {}): Promise<string> {
  return (await createApiKey(db, { resellerId: null, ...args })).text
}

export function bearer(key: string): { authorization: string } {
  return { authorization: `Bearer ${key}` }
}

/** The answer of an endpoint. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: Record<string, unknown>
}

export async function ask(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, init)
  const text = await response.text()
  const json = response.headers.get('content-type')?.includes('json') === true && text !== ''
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: json ? (JSON.parse(text) as Record<string, unknown>) : {},
  }
}
