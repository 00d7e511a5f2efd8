import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { alertsFile, codeHelps } from '../../grafana/source/alerts.ts'
import { runbookSections } from '../../grafana/source/runbooks.ts'
import { judge, STATUS_CHECKS, type StatusReading } from '../../src/health/checks.ts'
import type { Status } from '../../src/health/status-shapes.ts'
import { AT, ago, WELL, WORKER } from './status-fixture.ts'

const [ROUTES, AVAILABLE] = WELL.lists as [Status['lists'][number], Status['lists'][number]]
const HOURS_MS = 3_600_000

const routes = (changed: Partial<Status['lists'][number]>): Partial<StatusReading> => ({
  lists: [{ ...ROUTES, ...changed }, AVAILABLE],
})
const changing =
  <Part extends 'beliefs' | 'budget' | 'deliveries' | 'queue'>(part: Part) =>
  (changed: Partial<NonNullable<Status[Part]>>): Partial<StatusReading> => ({
    [part]: { ...WELL[part], ...changed },
  })
const beliefs = changing('beliefs')
const budget = changing('budget')
const deliveries = changing('deliveries')
const queue = changing('queue')
const upstream = (...openBreakers: Status['upstream']['openBreakers']): Partial<StatusReading> => ({
  upstream: { pausedUntil: null, openBreakers },
})
const paused = (
  what: Status['pauses'][number]['what'],
  { hours = 1, until = null }: { hours?: number; until?: Date | null } = {},
): Partial<StatusReading> => {
  const from = new Date(AT.getTime() - hours * HOURS_MS)
  return { pauses: [{ what, from, until, running: true, reason: 'tests', by: 'cli' }] }
}
const held = (runId: number, rejectedAt: Date | null = null): Partial<StatusReading> => ({
  heldRuns: [
    {
      runId,
      list: 'routes',
      since: ago(60),
      lists: 1,
      reason: null,
      rejectedAt,
      releasableAt: null,
    },
  ],
})
const late = (fares: number): Partial<StatusReading> => ({
  contradicted: {
    fares,
    since: ago(310),
    until: null,
    waits: [{ wait: 'late', fares, since: ago(310) }],
  },
})
const OPEN = { endpoint: 'verify', since: ago(90), cause: '401', lastGoodAt: null } as const
const GONE = {
  id: '7',
  reseller: 'ana',
  reason: 'gone',
  failingSince: null,
  forHours: false,
} as const
const LOST = { ...WORKER, lastProgressAt: ago(600) }

/** A state that differs from one in which all is well, and what the status finds in it. */
const CASES: readonly (readonly [string, Partial<StatusReading>, readonly string[]])[] = [
  ['all is well', {}, []],
  ['a pause', paused('checks'), ['warn checks_paused']],
  ['a pause that was forgotten', paused('deliveries', { hours: 13 }), ['bad deliveries_paused']],
  [
    'a long pause with an end',
    paused('syncs', { hours: 13, until: ago(-60) }),
    ['warn syncs_paused'],
  ],
  ['a list that is a little late', routes({ nextDueAt: ago(60) }), ['warn list_overdue']],
  ['a list that is late', routes({ nextDueAt: ago(700) }), ['bad list_overdue']],
  [
    'a list before its first sync',
    routes({ lastSuccessAt: null, lastAttemptAt: null }),
    ['warn list_never_accepted'],
  ],
  ['a list whose first sync failed', routes({ lastSuccessAt: null }), ['bad list_never_accepted']],
  ['a list whose last sync failed', routes({ lastSuccessAt: ago(7_200) }), ['warn list_failing']],
  [
    'a list that two due times did not bring',
    routes({ lastSuccessAt: ago(18_001), lastAttemptAt: ago(5) }),
    ['bad list_failing'],
  ],
  ['an old list, as a newer one is held', routes({ lastSuccessAt: ago(18_001), held: 1 }), []],
  ['a held list', held(7), ['bad list_held']],
  ['a held list like a rejected one', held(8, ago(9)), ['warn list_held']],
  ['some stale fares', beliefs({ stale: 120 }), ['warn fares_stale']],
  ['over a tenth of stale fares', beliefs({ stale: 121 }), ['bad fares_stale']],
  ['few stale fares of few', beliefs({ fares: 15, stale: 3 }), ['warn fares_stale']],
  ['few stale fares, and most of them', beliefs({ fares: 4, stale: 3 }), ['bad fares_stale']],
  [
    'stale fares while checks are paused',
    { ...beliefs({ stale: 900 }), ...paused('checks') },
    ['warn checks_paused', 'warn fares_stale'],
  ],
  ['fares without an answer', beliefs({ unanswered: 3 }), ['warn fares_unanswered']],
  [
    'fares with unusable answers',
    beliefs({ silent: 3, silentReason: 'timeout' }),
    ['warn fares_silent'],
  ],
  [
    'longest delays that are not kept',
    {
      unkeptMaxDelays: [
        { reseller: 'ana', fares: 5, tooShort: 0, neededPerSecond: 9, allowedPerSecond: 7 },
      ],
    },
    ['bad max_delays_unkept'],
  ],
  ['few late changes', late(12), []],
  ['late changes of over a hundredth of the fares', late(13), ['bad changes_late']],
  ['a database that takes no writes', { readOnly: true }, ['bad database_read_only']],
  [
    'a pause of the upstream',
    { upstream: { pausedUntil: ago(-30), openBreakers: [] } },
    ['warn upstream_paused'],
  ],
  ['a refused credential', upstream({ ...OPEN, breaker: 'auth' }), ['bad credential_refused']],
  ['calls that fail', upstream({ ...OPEN, breaker: 'errors' }), ['bad calls_failing']],
  [
    'checks without answers',
    budget({ checksLastMinute: 12, unknownLastMinute: 7 }),
    ['warn checks_unknown'],
  ],
  [
    'unusual answers',
    {
      unusualAnswers: [
        { name: 'soldOut', answers: 2, firstSeenAt: ago(60) },
      ] as unknown as Status['unusualAnswers'],
    },
    ['warn answers_unusual'],
  ],
  ['a budget that is too small', budget({ requestsPerSecond: 0.3 }), ['bad budget_too_small']],
  [
    'a budget that an operator limited',
    budget({ limit: { requestsPerSecond: 1, until: ago(-60), reason: 'tests', by: 'cli' } }),
    ['warn budget_limit'],
  ],
  [
    'a limit under which a round takes over an hour',
    budget({ limit: { requestsPerSecond: 0.3, until: ago(-60), reason: 'tests', by: 'cli' } }),
    ['bad budget_too_small', 'warn budget_limit'],
  ],
  ['a budget that the upstream limits', budget({ share: 0.7 }), ['warn budget_limited']],
  ['a mass', { incidents: [{ kind: 'mass_loss', openedAt: ago(61) }] }, ['bad mass_loss']],
  [
    'changes that a mass holds',
    {
      held: [
        {
          kind: 'became_available',
          fares: 110,
          since: ago(300),
          latestSince: ago(60),
          until: ago(-540),
          watches: 120,
        },
      ],
    },
    ['warn changes_held'],
  ],
  [
    'late deliveries',
    deliveries({ oldest: { healthy: ago(400).getTime() / 1_000, busy: null, failing: null } }),
    ['bad deliveries_late'],
  ],
  [
    'an endpoint that fails for hours',
    deliveries({ failingForHours: 1, endpoints: { healthy: 1, busy: 0, failing: 1 } }),
    ['bad endpoints_failing_for_hours'],
  ],
  ['deliveries that died', deliveries({ diedLastHour: 1 }), ['bad deliveries_dying']],
  [
    'an endpoint that fails',
    deliveries({ endpoints: { healthy: 1, busy: 0, failing: 1 } }),
    ['warn endpoints_failing'],
  ],
  [
    'a disabled endpoint',
    deliveries({ disabled: { gone: 1 }, unreached: [GONE] }),
    ['warn endpoints_disabled'],
  ],
  [
    'a queue that is down',
    queue({ fault: 'no answer', lastTick: null, queues: [] }),
    ['bad queue_down'],
  ],
  ['no tick', queue({ lastTick: { name: 'prune', at: ago(120), failure: null } }), ['bad no_tick']],
  [
    'a dead job',
    queue({ queues: [{ queue: 'route-sync', waiting: 0, active: 0, delayed: 0, dead: 2 }] }),
    ['bad jobs_dead'],
  ],
  ['no process', { processes: [] }, ['bad no_process']],
  [
    'a process that hangs, next to others',
    { processes: [...(WELL.processes ?? []), LOST] },
    ['warn process_silent'],
  ],
  [
    'roles that no process has',
    { processes: [{ ...LOST, lastProgressAt: ago(3), role: 'sync+api' }] },
    ['bad role_missing'],
  ],
  [
    'a wrong clock',
    { processes: [{ ...LOST, lastProgressAt: ago(3), clockAheadSeconds: -5 }] },
    ['bad clock_wrong'],
  ],
  [
    'a disk that is almost full',
    { disk: { freeBytes: 346e6, totalBytes: 4e9 } },
    ['bad disk_filling'],
  ],
]

const warningsIn = (changed: Partial<StatusReading>) =>
  judge(STATUS_CHECKS, { ...WELL, ...changed })

describe('the checks of the status', () => {
  it.each(CASES)('find of %s', (_, changed, expected) => {
    expect(warningsIn(changed).map(({ level, code }) => `${level} ${code}`)).toEqual(expected)
  })

  it('are each provoked by a case above', () => {
    const found = new Set(CASES.flatMap(([, , codes]) => codes.map((code) => code.split(' ')[1])))
    const masses = Object.keys(STATUS_CHECKS).filter((code) => code.startsWith('mass_'))
    const missing = Object.keys(STATUS_CHECKS).filter(
      (code) => !found.has(code) && !masses.includes(code),
    )
    expect(missing).toEqual([])
  })

  it('are about one list as long as it is held, whichever run of it was the last', () => {
    const subjects = [7, 8].flatMap((runId) => warningsIn(held(runId)).map((one) => one.subject))

    expect(subjects).toEqual(['routes', 'routes'])
  })

  it('name the endpoints that fail, with their resellers', () => {
    const unreached = [
      GONE,
      { ...GONE, id: '8', reason: null },
      { ...GONE, id: '9', reseller: 'bob', reason: null, forHours: true },
    ]
    const endpoints = { healthy: 0, busy: 0, failing: 2 }

    const texts = warningsIn(
      deliveries({ failingForHours: 1, endpoints, disabled: { gone: 1 }, unreached }),
    ).map(({ text }) => text)

    expect(texts).toEqual([
      'Every attempt to 1 endpoint (9 of bob) has failed for hours.',
      'The last attempts to 1 endpoint (8 of ana) failed.',
      'Nothing is sent to 1 endpoint (7 of ana): disabled, gone or failing too long.',
    ])
  })

  it('name what they are about, how long it lasts, what shows more and what to do', () => {
    const [first] = warningsIn(paused('checks'))
    const [unkept] = warningsIn({
      unkeptMaxDelays: [
        {
          reseller: 'ana',
          fares: 500,
          tooShort: 3,
          neededPerSecond: 500 / 60,
          allowedPerSecond: 7,
        },
      ],
    })

    expect(first).toEqual({
      about: 'fares',
      code: 'checks_paused',
      level: 'warn',
      subject: null,
      text: 'No fare is checked, as operators have paused it: tests.',
      since: new Date(AT.getTime() - HOURS_MS),
      until: null,
      command: 'bin/farewatch audit list',
      todo: '"bin/farewatch resume checks" ends it.',
    })
    expect(unkept?.text).toBe(
      'The longest delays of ana are not kept: 500 fares need 8.33 checks a second, its share allows 7; 3 fares with a delay below the minimum interval between two checks.',
    )
  })
})

describe('each thing that can be wrong', () => {
  it('has a section in the runbooks, and the runbooks have no other sections', () => {
    const sections = runbookSections().map(({ title }) => title)
    expect(new Set(sections).size).toBe(sections.length)
    expect(new Set(sections)).toEqual(new Set(codeHelps().map(({ section }) => section)))
  })

  it('alerts as the file of the alerts says', () => {
    const file = new URL('../../grafana/prometheus/alerts.yml', import.meta.url)
    expect(readFileSync(file, 'utf8')).toBe(alertsFile())
  })
})
