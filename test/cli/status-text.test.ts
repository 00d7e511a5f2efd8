import { describe, expect, it } from 'vitest'
import type { Answer } from '../../src/cli/api-client.ts'
import { statusText, warningsText } from '../../src/cli/text/status-text.ts'
import { judge, STATUS_CHECKS } from '../../src/health/checks.ts'
import type { Status } from '../../src/health/status-shapes.ts'
import { ago, CALLS, WELL } from '../health/status-fixture.ts'

/** As the API answers. */
function textOf(status: Status, width: number): string {
  return statusText(JSON.parse(JSON.stringify(status)) as Answer<'GET /status'>, CALLS, width)
}

describe('the status', () => {
  it('is about twenty lines if all is well, and fits eighty columns', () => {
    const text = textOf(WELL, 80)

    expect(text.split('\n')).toEqual([
      'farewatch 0.1.0, PostgreSQL 18.4, 2026-01-31 03:12:07 UTC',
      '',
      'nothing is wrong',
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
      'queue      in Redis, last tick 0 s ago',
      '           verify: 1,000 waiting, 3 active, 0 delayed',
      'processes  worker 0.1.0 on host a (pid 7) since 2026-01-31 03:07:07 UTC (5 min),',
      '           progress 3 s ago',
      'changes    routes 1,234 (3 h ago), fares 0',
      'deliveries 3 pending, 0 dead; 7 endpoints enabled, 2 paused',
    ])
  })

  it('says which history the demo has made up', () => {
    const demo = { historySince: ago(86_400), historyUntil: ago(60), flightId: null }

    expect(textOf({ ...WELL, demo }, 200)).toMatch(
      /\ndemo +the history from 2026-01-30 03:12:07 to 2026-01-31 03:11:07 UTC was made up$/,
    )
  })

  it('has the changes that wait, and since when', () => {
    const contradicted: Status['contradicted'] = {
      fares: 74,
      since: ago(720),
      until: ago(-5),
      waits: [
        { wait: 'confirmation', fares: 2, since: ago(20) },
        { wait: 'late', fares: 12, since: ago(310) },
        { wait: 'held', fares: 60, since: ago(720) },
      ],
    }

    expect(textOf({ ...WELL, contradicted }, 200)).toContain(
      'not recorded yet: 2 to be confirmed, the oldest for 20 s; 12 late, the oldest for 5 min; 60 held, the oldest for 12 min',
    )
  })

  it('begins with what is wrong, the worst first, with what shows more and what to do', () => {
    const broken: Status = {
      ...WELL,
      upstream: { pausedUntil: ago(-30), openBreakers: [] },
      disk: { freeBytes: 346e6, totalBytes: 4e9 },
    }
    const warnings = judge(STATUS_CHECKS, broken)

    expect(
      textOf({ ...broken, warnings }, 80)
        .split('\n')
        .slice(2, 14),
    ).toEqual([
      'WRONG    disk_filling: The disk of the database has 346 MB free (9 %).',
      '         → bin/farewatch doctor',
      '         → Free some space or use a larger disk. Delete no file in the data',
      '           directory of PostgreSQL.',
      'warning  upstream_paused: The upstream asked for a pause. (until 2026-01-31',
      '         03:12:37 UTC)',
      '         → bin/farewatch status',
      '         → It ends by itself. Do not call the upstream by other means until',
      '           then.',
      '1 wrong, 1 warning',
      '',
      'routes     34,354 live, 28,101 available',
    ])
    expect(warningsText([], 80)).toBe('nothing is wrong')
  })

  it('says that there are no endpoints to deliver to', () => {
    const endpoints = { healthy: 0, busy: 0, failing: 0 }
    const deliveries = { ...WELL.deliveries, pending: 0, endpoints, disabled: {} }

    expect(textOf({ ...WELL, deliveries }, 80)).toMatch(/\ndeliveries no endpoints$/)
  })

  it('wraps long lines on a narrow screen with a hanging indent', () => {
    const lines = textOf(WELL, 50).split('\n')

    expect(lines.every((line) => line.length <= 57)).toBe(true)
    expect(lines).toContain('           99 % 6 min, all 14 min')
  })
})
