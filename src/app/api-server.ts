import packageJson from '../../package.json' with { type: 'json' }
import { createOnDemand } from '../fares/verify.ts'
import { createFeedHeads, listenForHeads, readHeadsOf } from '../feeds/feed-heads.ts'
import { createStreams, type StateReaders } from '../feeds/stream/streams.ts'
import { createStatusHistories } from '../health/status-history-operations.ts'
import { type Freshness, readFreshness, type WorkState } from '../health/status-operations.ts'
import { createTtlCache } from '../platform/base/cache.ts'
import { publicUrlOf } from '../platform/config/addresses.ts'
import type { Db } from '../platform/db/database.ts'
import { isDatabaseUnavailable } from '../platform/db/database-health.ts'
import { followHints } from '../platform/db/listener.ts'
import { createApi } from '../platform/http/api.ts'
import { drainOnClose, type HttpServer } from '../platform/http/server.ts'
import { QueueUnavailableError } from '../platform/queue/queue-errors.ts'
import type { QueueSystem } from '../platform/queue/queue-system.ts'
import { createKeyAccess, type KeyAccess } from '../resellers/check-keys.ts'
import { createTransactions } from '../resellers/kept-answers.ts'
import { createRenderedLists } from '../routes/read/export-routes.ts'
import { listSyncRuns } from '../routes/runs.ts'
import { createDelayReader } from '../views/detection-delays.ts'
import { listIncidents } from '../views/incident-operations.ts'
import { disableReseller, enableReseller } from '../watches/change-watches.ts'
import { API_DOCUMENT } from './api-document.ts'
import { API_OPERATIONS, type ApiDeps } from './api-operations.ts'
import type { App } from './app.ts'
import { requestCounter } from './count-work.ts'
import { countContents, markForDeletion } from './delete-reseller.ts'
import { queueControl, readWork } from './health-deps.ts'
import { targetRulesOf, verifyRulesOf } from './settings-for.ts'

/** How long requests in progress may take when the process stops: a little less than the API role has. */
const DRAIN_MS = 2_500

/** Requests without a key must not cost more than one query in this time. */
const FRESHNESS_CACHE_MS = 5_000
/** Every page of an operator asks for the status every few seconds. */
const WORK_CACHE_MS = 3_000

/** Creates the server of the API. @param given who may call it; unset: who has a key of the database. */
export function createApiServer(app: App, queue: QueueSystem, given?: KeyAccess): HttpServer {
  const { config, log } = app
  const { db } = app.requestDatabase
  const nowMs = () => performance.now()
  const access = given ?? createKeyAccess({ db, log, nowMs })
  const onDemand = createOnDemand({ ...app.verifyDeps, db })
  const freshness = createTtlCache<Freshness>({ ttlMs: FRESHNESS_CACHE_MS, nowMs, maxKeys: 1 })
  const work = createTtlCache<WorkState>({ ttlMs: WORK_CACHE_MS, nowMs, maxKeys: 1 })
  const { feedHeads, streams, stopFollowing } = followFeeds(app, access)
  const server = createApi({
    log,
    isUnavailable: (thrown) =>
      isDatabaseUnavailable(thrown) || thrown instanceof QueueUnavailableError,
    operations: API_OPERATIONS,
    deps: {
      ...depsOf(app),
      queues: queueControl({ db, clock: app.clock }, queue),
      readWork: () => work.get('', () => readWork(db, queue)),
      routeLists: createRenderedLists({ db, nowMs }),
      onDemand,
      feedHeads,
      streams,
    },
    document: API_DOCUMENT,
    readFreshness: () => freshness.get('', () => readFreshness({ db, clock: app.clock })),
    onAnswered: requestCounter(app.metrics),
    access,
    transactions: createTransactions<ApiDeps>(),
    requestsPerSecond: config.API_REQUESTS_PER_SECOND,
  })
  // Before the connections close, so that waiting requests still receive an answer.
  server.addHook('preClose', () => onDemand.close())
  server.addHook('preClose', async () => stopFollowing())
  server.addHook('onClose', () => access.allUsesRecorded())
  drainOnClose(server, DRAIN_MS)
  return server
}

/** Creates what follows the feeds for waiting requests and for streams. */
function followFeeds(
  { requestDatabase: { db }, breaker, listener, metrics, log }: App,
  access: KeyAccess,
) {
  const feedHeads = createFeedHeads({ readHeads: (feeds) => readHeadsOf(db, feeds) })
  const streams = createStreams({
    heads: feedHeads,
    metrics,
    log,
    states: statesFor(db),
  })
  const subscriptions = [
    listenForHeads(feedHeads, listener),
    listener.subscribe('upstream', () => breaker.notify()),
    listener.subscribe(
      'key',
      followHints(() => {
        access.forget()
        return streams.reauthorize()
      }),
    ),
  ]
  const stopFollowing = () => {
    for (const unsubscribe of subscriptions) unsubscribe()
    feedHeads.close()
    streams.close()
  }
  return { feedHeads, streams, stopFollowing }
}

/** How many finished runs an operator's stream shows. */
const SHOWN_RUNS = 10
const SHOWN_INCIDENTS = 100

/** What operators see on their stream in addition to the feeds, as `/incidents?open=true` and `/sync-runs` show it. */
export function statesFor(db: Db): StateReaders {
  return {
    incidents: async () => ({
      items: await listIncidents(db, { open: true, limit: SHOWN_INCIDENTS }),
    }),
    runs: async () => ({ items: await listSyncRuns(db, { limit: SHOWN_RUNS }) }),
  }
}

function depsOf(
  app: App,
): Omit<ApiDeps, 'queues' | 'routeLists' | 'onDemand' | 'feedHeads' | 'streams'> {
  const { requestDatabase, clock, log, config, syncDeps } = app
  return {
    db: requestDatabase.db,
    publicUrl: publicUrlOf(config),
    disableReseller,
    enableReseller,
    countContents,
    markForDeletion,
    clock,
    log,
    scrub: syncDeps.scrub,
    guard: syncDeps.guard,
    requestsPerSecond: config.UPSTREAM_REQUESTS_PER_SECOND,
    massHoldMs: verifyRulesOf(config).massHoldMs,
    statusHistories: createStatusHistories(() => performance.now()),
    minRecheckSeconds: config.MIN_INTERVAL_SECONDS,
    version: packageJson.version,
    readDelays: createDelayReader(requestDatabase.db, () => performance.now()),
    sealer: app.sealer,
    targetRules: targetRulesOf(config),
  }
}
