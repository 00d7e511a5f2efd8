import type { Answer } from '../../src/cli/api-client.ts'
import type { Status } from '../../src/health/status-shapes.ts'

export const AT = new Date('2026-01-31T03:12:07Z')
export const ago = (seconds: number) => new Date(AT.getTime() - seconds * 1000)

export const WORKER = {
  ...{ role: 'worker', version: '0.1.0', host: 'a', pid: 7, startedAt: ago(300) },
  clockAheadSeconds: 0.1,
}

/** The status while all is well. */
export const WELL: Status = {
  at: AT,
  routes: { live: 34_354, available: 28_101 },
  lists: [
    {
      list: 'routes',
      lastSuccessAt: ago(720),
      lastAttemptAt: ago(725),
      nextDueAt: ago(-6_420),
      intervalSeconds: 7_200,
      held: 0,
    },
    {
      list: 'with-availability',
      lastSuccessAt: ago(540),
      lastAttemptAt: ago(545),
      nextDueAt: ago(-7_320),
      intervalSeconds: 7_200,
      held: 0,
    },
  ],
  heldRuns: [],
  contradicted: null,
  unusualAnswers: [],
  warnings: [],
  beliefs: {
    fares: 1_200,
    unanswered: 0,
    stale: 0,
    silent: 0,
    silentReason: null,
    ageSeconds: { p50: 120, p90: 240, p99: 360, max: 840 },
  },
  upstream: { pausedUntil: null, openBreakers: [] },
  pauses: [],
  incidents: [],
  held: [],
  budget: {
    requestsPerSecond: 5,
    share: 1,
    aheadSeconds: 4,
    checksLastMinute: 180,
    unknownLastMinute: 2,
    used: 0.6,
    limit: null,
  },
  unkeptMaxDelays: [],
  disk: { freeBytes: 5e9, totalBytes: 40e9 },
  detectionDelays: [
    {
      priority: 'all',
      changes: 1_820,
      waiting: 0,
      midpointSeconds: { p50: 4.25, p95: 131 },
      atMostSeconds: { p50: 8.5, p95: 262 },
    },
    {
      priority: 'urgent',
      changes: 20,
      waiting: 0,
      midpointSeconds: { p50: 2, p95: 3 },
      atMostSeconds: { p50: 4, p95: 6 },
    },
    {
      priority: 'normal',
      changes: 1_800,
      waiting: 0,
      midpointSeconds: { p50: 4.25, p95: 131 },
      atMostSeconds: { p50: 8.5, p95: 262 },
    },
  ],
  readOnly: false,
  demo: null,
  versions: { farewatch: '0.1.0', schema: '0014_api_keys', postgresql: '18.4' },
  feeds: [
    { feed: 'route', lastSeq: 1_234, lastRecordAt: ago(10_800).getTime() / 1000 },
    { feed: 'availability', lastSeq: 0, lastRecordAt: 0 },
  ],
  deliveries: {
    pending: 3,
    dead: 0,
    diedLastHour: 0,
    failingForHours: 0,
    endpoints: { healthy: 6, busy: 1, failing: 0 },
    oldest: { healthy: ago(1).getTime() / 1000, busy: ago(900).getTime() / 1000, failing: null },
    oldestPendingAt: ago(900),
    disabled: { paused: 2 },
    unreached: [],
  },
  queue: {
    kind: 'redis',
    fault: null,
    lastTick: { name: 'schedules', at: ago(0), failure: null },
    queues: [{ queue: 'verify', waiting: 1_000, active: 3, delayed: 0, dead: 0 }],
  },
  processes: [{ ...WORKER, lastProgressAt: ago(3) }],
}

/** Where the calls of the last hour went. */
export const CALLS: Answer<'GET /budget/calls'> = {
  since: '2026-01-31T02:12:00.000Z',
  byLane: [
    { lane: 'scheduled', calls: [9_000, 0] },
    { lane: 'on_demand', calls: [1_000, 0] },
  ],
  byReseller: [
    { reseller: 'northwind', calls: [6_000, 0] },
    { reseller: 'fabrikam', calls: [3_000, 0] },
    { reseller: null, calls: [1_000, 0] },
  ],
  byPriority: [
    { priority: 'normal', calls: [8_000, 0] },
    { priority: null, calls: [1_000, 0] },
    { priority: 'urgent', calls: [1_000, 0] },
  ],
}
