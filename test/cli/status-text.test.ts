import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { Answer } from '../../src/cli/api-client.ts'
import { createLogLines } from '../../src/cli/text/log-lines.ts'
import { statusText, warningsText } from '../../src/cli/text/status-text.ts'
import { judge, STATUS_CHECKS } from '../../src/health/checks.ts'
import type { Status } from '../../src/health/status-shapes.ts'
import { createLogger } from '../../src/platform/base/logger.ts'
import { createScrub } from '../../src/platform/base/secrets.ts'
import { NO_COUNTS } from '../../src/routes/runs.ts'
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

  it('wraps long lines on a narrow screen with a hanging indent', () => {
    const lines = textOf(WELL, 50).split('\n')

    expect(lines.every((line) => line.length <= 57)).toBe(true)
    expect(lines).toContain('           99 % 6 min, all 14 min')
  })
})

function aTerminalLog(secrets: readonly string[] = [], debug = true) {
  const written: string[] = []
  const destination = createLogLines((text) => void written.push(text), { debug })
  const log = createLogger({ level: 'debug', scrub: createScrub(secrets), destination })
  const plain = () => written.map((text) => stripVTControlCharacters(text))
  return { log, written, plain }
}

describe('a log line on a terminal', () => {
  it('is the time, the message and its fields', () => {
    const { log, plain } = aTerminalLog()

    log.child({ role: 'worker' }).info({ runs: 2, list: 'routes', deep: { a: 1 } }, 'job done')

    expect(plain()).toEqual([
      expect.stringMatching(
        /^\d\d:\d\d:\d\d {2}job done {2}role=worker {2}runs=2 {2}list=routes {2}deep=\{"a":1\}\n$/,
      ),
    ])
  })

  it('is a sentence if it reports what a sync has changed', () => {
    const { log, plain } = aTerminalLog()
    const outcome = { ...NO_COUNTS, runId: 1, list: 'routes', baseline: false, reason: null }

    for (const status of ['unchanged', 'applied']) {
      log.info({ ...outcome, status, added: 2, live: 1_234 }, 'route sync finished')
    }

    expect(plain()).toEqual([
      expect.stringMatching(/ routes applied: 2 added, - removed, 1,234 live\n$/),
    ])
  })

  it('is coloured from warn on, and shows only the message of an error', () => {
    const { log, written, plain } = aTerminalLog()

    log.error({ err: new Error('broken') }, 'request failed')
    log.warn('careful')
    log.info('fine')

    expect(plain()[0]).toMatch(/ request failed {2}err=broken\n$/)
    expect(written[0]).toContain('\u001b[31mrequest failed')
    expect(written[1]).toContain('\u001b[33mcareful')
    expect(written[2]).not.toContain('\u001b[3')
  })

  it('is for a person: a change once, without ids of requests and without what is not decided', () => {
    const { log, plain } = aTerminalLog()

    log.info({ seq: 7, outcome: 'verified', text: 'sold out' }, 'webhook received')
    log.info({ seq: 7, outcome: 'refused', text: 'the signature is wrong' }, 'webhook received')
    log.info({ by: 'key 1', requestId: 'r-1', what: ['checks'] }, 'work paused')
    const outcome = { ...NO_COUNTS, runId: 1, list: 'routes', status: 'applied', live: 5 }
    log.info({ ...outcome, added: 1, removed: 0, pendingAbsences: 2 }, 'route sync finished')

    expect(plain().map((line) => line.slice(10).trim())).toEqual([
      'webhook 7 refused: the signature is wrong',
      'work paused  by=key 1  what=["checks"]',
      'routes applied: 1 added, 0 removed, 5 live',
    ])
  })

  it('has no control characters', () => {
    const { log, plain } = aTerminalLog()

    log.info({ city: 'a\u001b[2J\nb' }, 'place \u202e changed')

    expect(plain()[0]).toMatch(/place {3}changed {2}city=a \[2J b\n$/)
  })

  it('is not written if a step has shown it', () => {
    const { log, written } = aTerminalLog()

    log.info('ready')
    log.warn('ready')

    expect(written).toHaveLength(1)
  })
})
