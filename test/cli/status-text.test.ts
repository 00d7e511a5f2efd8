import { describe, expect, it } from 'vitest'
import type { Overview } from '../../src/app/read-overview.ts'
import { statusText } from '../../src/cli/text/status-text.ts'
import { warningsOf } from '../../src/views/status-warnings.ts'

/** The syncs of every hour. */
const HOURLY = { zone: 'UTC', everySeconds: null }
const AT = new Date('2026-01-31T03:12:07Z')
const ago = (seconds: number) => new Date(AT.getTime() - seconds * 1000)

const WORKER = {
  ...{ role: 'worker', version: '0.1.0', host: 'a', pid: 7, startedAt: ago(300) },
  clockAheadSeconds: 0.1,
}

const WELL: Overview = {
  at: AT,
  routes: { live: 34_354, available: 28_101 },
  lists: [
    {
      list: 'routes',
      lastSuccessAt: ago(720),
      lastAttemptAt: ago(725),
      nextDueAt: ago(-6_420),
      held: 0,
    },
    {
      list: 'with-availability',
      lastSuccessAt: ago(540),
      lastAttemptAt: ago(545),
      nextDueAt: ago(-7_320),
      held: 0,
    },
  ],
  heldRuns: [],
  contradicted: null,
  unusualAnswers: [],
  warnings: [],
  schedules: [
    {
      ...HOURLY,
      name: 'sync-with-availability',
      list: 'with-availability',
      cron: '15 * * * *',
      nextDueAt: ago(-7_320),
      lastDueAt: null,
    },
    {
      ...HOURLY,
      name: 'sync-routes',
      list: 'routes',
      cron: '0 * * * *',
      nextDueAt: ago(-6_420),
      lastDueAt: null,
    },
  ],
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
  callsLastHour: {
    byLane: [
      { lane: 'scheduled', calls: 9_000 },
      { lane: 'on_demand', calls: 1_000 },
    ],
    byReseller: [
      { reseller: 'northwind', calls: 6_000 },
      { reseller: 'fabrikam', calls: 3_000 },
      { reseller: null, calls: 1_000 },
    ],
    byPriority: [
      { priority: 'normal', calls: 8_000 },
      { priority: null, calls: 1_000 },
      { priority: 'urgent', calls: 1_000 },
    ],
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
  },
  queue: {
    kind: 'redis',
    fault: null,
    lastTick: { name: 'schedules', at: ago(0), failure: null },
    queues: [{ queue: 'verify', waiting: 1_000, active: 3, delayed: 0, dead: 0 }],
  },
  processes: [{ ...WORKER, lastProgressAt: ago(3) }],
}

const OVER = { reseller: 'ana', fares: 500, neededPerSecond: 500 / 60, allowedPerSecond: 7 }

/** Changes that wait, and how many of them are late. */
function waitingWith(late: number): NonNullable<Overview['contradicted']> {
  const waits: NonNullable<Overview['contradicted']>['waits'] = [
    { wait: 'confirmation', fares: 2, since: ago(20) },
    { wait: 'late', fares: late, since: ago(310) },
    { wait: 'held', fares: 60, since: ago(720) },
  ]
  return { fares: late + 62, since: ago(720), until: ago(-5), waits }
}

describe('the status', () => {
  it('has no capitals without problems, and fits eighty columns', () => {
    const text = statusText(WELL, 80)

    expect(text.split('\n')).toEqual([
      'farewatch 0.1.0, PostgreSQL 18.4, 2026-01-31 03:12:07 UTC',
      '',
      'routes     34,354 live, 28,101 available',
      '           routes: accepted 12 min ago, next in 1 h 47 min',
      '           with-availability: accepted 9 min ago, next in 2 h 2 min',
      'fares      1,200 watched',
      '           half checked within 2 min, 90 % 4 min, 99 % 6 min, all 14 min',
      '           1,820 changes in a day: half detected within about 4.3 s, 95 % within',
      '           2 min (at most 4 min)',
      '           20 changes in a day of urgent priority: half detected within about',
      '           2.0 s, 95 % within 3.0 s (at most 6.0 s)',
      '           1,800 changes in a day of normal priority: half detected within about',
      '           4.3 s, 95 % within 2 min (at most 4 min)',
      'budget     5 requests a second, 60 % used',
      '           180 checks in the last whole minute, 2 of them unknown',
      '           calls of the last hour: scheduled 90 %, on demand 10 %',
      '           by reseller: northwind 60 %, fabrikam 30 %',
      '           by priority: normal 80 %, urgent 10 %',
      'upstream   no trouble',
      'incidents  none open',
      'queue      in Redis, last tick 0 s ago',
      '           verify: 1,000 waiting, 3 active, 0 delayed',
      'processes  worker 0.1.0 on host a (pid 7) since 2026-01-31 03:07:07 UTC (5 min),',
      '           progress 3 s ago',
      'changes    routes 1,234 (3 h ago), fares 0',
      'deliveries 3 pending, 0 dead; 7 endpoints enabled, 2 paused',
    ])
  })

  it('has the changes that wait, held ones apart, and warns of many late ones', () => {
    const few = { ...WELL, contradicted: waitingWith(12) }
    const many = { ...WELL, contradicted: waitingWith(13) }

    expect(statusText(few, 200)).toContain(
      'not recorded yet: 2 to be confirmed, the oldest for 20 s; 12 LATE, the oldest for 5 min; 60 held, the oldest for 12 min',
    )
    // A hundredth of the fares.
    expect(warningsOf(few)).toEqual([])
    expect(warningsOf(many)).toMatchObject([
      { about: 'delay', code: 'changes_late', level: 'warn' },
    ])
  })

  it('has each problem in capitals, and nothing else', () => {
    const bad: Overview = {
      ...WELL,
      lists: [
        {
          list: 'routes',
          lastSuccessAt: null,
          lastAttemptAt: ago(60),
          nextDueAt: ago(600),
          held: 1,
        },
      ],
      heldRuns: [
        {
          runId: 7,
          list: 'routes',
          since: ago(60),
          lists: 1,
          reason: { code: 'guard.empty', text: 'the list is empty' },
          releasableAt: null,
        },
      ],
      schedules: [
        {
          ...HOURLY,
          name: 'sync-routes',
          list: 'routes',
          cron: '0 * * * *',
          nextDueAt: ago(600),
          lastDueAt: null,
        },
      ],
      upstream: {
        pausedUntil: ago(-30),
        openBreakers: [
          {
            endpoint: 'verify',
            breaker: 'auth',
            since: ago(90),
            cause: '401',
            lastGoodAt: ago(91),
          },
          {
            endpoint: 'lists',
            breaker: 'errors',
            since: ago(5),
            cause: 'timeout',
            lastGoodAt: null,
          },
        ],
      },
      incidents: [{ kind: 'mass_loss', openedAt: ago(61) }],
      disk: { freeBytes: 346e6, totalBytes: 4e9 },
      unkeptMaxDelays: [{ ...OVER, tooShort: 1 }],
      budget: WELL.budget && {
        ...WELL.budget,
        share: 0.5,
        limit: { requestsPerSecond: 0.3, until: ago(-60), reason: 'tests', by: 'cli' },
      },
      queue: {
        kind: 'redis',
        fault: null,
        lastTick: { name: 'schedules', at: ago(600), failure: null },
        queues: [{ queue: 'verify', waiting: 0, active: 0, delayed: 0, dead: 2 }],
      },
      processes: [
        { ...WORKER, lastProgressAt: ago(61) },
        { ...WORKER, clockAheadSeconds: -5, lastProgressAt: ago(3) },
      ],
      deliveries: {
        pending: 1_200,
        dead: 4,
        diedLastHour: 1,
        failingForHours: 1,
        endpoints: { healthy: 1, busy: 0, failing: 2 },
        oldest: { healthy: ago(400).getTime() / 1000, busy: null, failing: null },
        oldestPendingAt: ago(400),
        disabled: { gone: 1, failing: 2 },
      },
    }

    expect(warningsOf(WELL)).toEqual([])
    expect(warningsOf(bad).map(({ level, code }) => `${level} ${code}`)).toEqual([
      'bad max_delays_unkept',
      'bad credential_refused',
      'bad calls_failing',
      'bad budget_too_small',
      'bad mass_loss',
      'bad deliveries_late',
      'bad endpoints_failing_for_hours',
      'bad deliveries_dying',
      'bad no_tick',
      'bad clock_wrong',
      'bad disk_filling',
      'warn list_overdue',
      'warn list_held',
      'warn upstream_paused',
      'warn budget_limit',
      'warn endpoints_failing',
      'warn endpoints_disabled',
      'warn jobs_dead',
      'warn process_silent',
    ])
    const loud = statusText(bad, Number.POSITIVE_INFINITY).match(/(NO )?[A-Z_]{4,}[A-Z ]*/g)

    expect(loud).toEqual([
      'NEVER ACCEPTED',
      'OVERDUE ',
      'HELD ',
      'DELAYS ',
      'KEPT',
      'STOPPED',
      'SMALL',
      'LIMITED ',
      'PAUSED ',
      'REFUSES OUR CREDENTIAL ',
      'FAIL ',
      'MASS_LOSS ',
      'NO TICK ',
      'DEAD',
      'NO PROGRESS ',
      'CLOCK ',
      'LATE ',
      'DIED ',
      'FAILING ',
      'DISABLED',
      'ONLY ',
    ])
    expect(statusText(bad, Number.POSITIVE_INFINITY)).toMatch(
      /\ndeliveries 1,200 pending, the oldest LATE by 6 min, 4 dead \(1 DIED in the last hour\); 3 endpoints enabled, 2 FAILING \(1 for hours\), 3 DISABLED\ndisk {7}ONLY 346 MB free \(9 %\)$/,
    )
  })

  it('names the roles that no process has, and no role of one without progress counts', () => {
    const [worker] = WELL.processes
    const lost = { role: 'worker', lastProgressAt: ago(600) }
    const processes = [
      { ...worker, ...lost },
      { ...worker, role: 'sync+api' },
    ] as NonNullable<Overview['processes']>
    const status = { ...WELL, processes }

    expect(statusText(status, 200)).toContain('NO PROCESS for check, deliver')
    expect(warningsOf(status)[0]).toMatchObject({
      code: 'role_missing',
      level: 'bad',
      text: 'No process has these roles: check, deliver.',
    })
  })

  it('says why longest delays are not kept', () => {
    const within = { reseller: 'bob', fares: 4, neededPerSecond: 4 / 300, allowedPerSecond: 7 }
    const unkeptMaxDelays = [
      { ...OVER, tooShort: 0 },
      { ...OVER, tooShort: 3 },
      { ...within, tooShort: 1 },
    ]

    const lines = statusText({ ...WELL, unkeptMaxDelays }, Number.POSITIVE_INFINITY).split('\n')

    const need = '500 fares need 8.33 checks a second, its share allows 7'
    const short = 'with a delay below the minimum interval between two checks'
    expect(lines.filter((line) => line.includes('NOT KEPT')).map((line) => line.trim())).toEqual([
      `MAX DELAYS of ana NOT KEPT: ${need}`,
      `MAX DELAYS of ana NOT KEPT: ${need}; 3 fares ${short}`,
      `MAX DELAYS of bob NOT KEPT: 1 fare ${short}`,
    ])
  })

  it('says how many changes a mass holds, and since when', () => {
    const held = [
      {
        kind: 'became_available' as const,
        fares: 110,
        since: ago(300),
        latestSince: ago(60),
        until: ago(-540),
        watches: 120,
      },
    ]

    expect(statusText({ ...WELL, held }, Number.POSITIVE_INFINITY)).toMatch(
      /\nincidents {2}none open; 110 fares wait with became_available since 2026-01-31 03:07:07 UTC \(5 min\)\n/,
    )
  })

  it('says that there are no endpoints to deliver to', () => {
    const endpoints = { healthy: 0, busy: 0, failing: 0 }
    const deliveries = { ...WELL.deliveries, pending: 0, endpoints, disabled: {} }

    expect(statusText({ ...WELL, deliveries }, 80)).toMatch(/\ndeliveries no endpoints$/)
  })

  it('names what stops the checks, its cause, and until or since when', () => {
    const paused: Overview = { ...WELL, upstream: { pausedUntil: ago(-30), openBreakers: [] } }
    const failing: Overview = {
      ...WELL,
      upstream: {
        pausedUntil: null,
        openBreakers: [
          {
            endpoint: 'verify',
            breaker: 'errors',
            since: ago(90),
            cause: 'ECONNREFUSED',
            lastGoodAt: ago(91),
          },
        ],
      },
    }
    const linesOf = (overview: Overview) =>
      statusText(overview, Number.POSITIVE_INFINITY)
        .split('\n')
        .filter((line) => /^(budget|upstream)/.test(line))

    expect(linesOf(paused)).toEqual([
      'budget     5 requests a second, checks STOPPED: the upstream asked for a pause until 2026-01-31 03:12:37 UTC',
      'upstream   PAUSED until 2026-01-31 03:12:37 UTC (30 s)',
    ])
    expect(linesOf(failing)).toEqual([
      'budget     5 requests a second, checks STOPPED: calls to verify fail (ECONNREFUSED); only probes are sent',
      'upstream   calls to verify FAIL (ECONNREFUSED) since 2026-01-31 03:10:37 UTC (1 min), last good answer 2026-01-31 03:10:36 UTC',
    ])
  })

  it('does not say "no trouble" while most checks are unknown and no breaker is open yet', () => {
    const unknown = WELL.budget && { ...WELL.budget, checksLastMinute: 12, unknownLastMinute: 7 }

    expect(statusText({ ...WELL, budget: unknown }, 120)).toContain(
      '\nupstream   MOST CHECKS are unknown\n',
    )
  })

  it('reports a queue that does not answer and shows the rest', () => {
    const fault = 'no answer within 5000 ms'
    const queue: Overview['queue'] = { kind: 'redis', fault, lastTick: null, queues: [] }

    expect(statusText({ ...WELL, queue }, 120)).toContain(
      '\nqueue      NO ANSWER: no answer within 5000 ms\nprocesses ',
    )
  })

  it('wraps long lines on a narrow screen with a hanging indent', () => {
    const lines = statusText(WELL, 50).split('\n')

    expect(lines.every((line) => line.length <= 57)).toBe(true)
    expect(lines).toContain('           99 % 6 min, all 14 min')
  })
})
