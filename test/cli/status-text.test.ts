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

  // Fault: The upstream is down or asked for a pause.
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

const SYNC = { ...NO_COUNTS, runId: 1, list: 'routes', baseline: false, reason: null, live: 1_234 }

describe('a log line on a terminal', () => {
  it.each<[string, [object, string], string?]>([
    [
      'is the message and its fields',
      [{ runs: 2, deep: { a: 1 } }, 'job done'],
      'job done  role=worker  runs=2  deep={"a":1}',
    ],
    [
      'is a sentence if it reports what a sync has changed',
      [{ ...SYNC, status: 'applied', added: 2 }, 'route sync finished'],
      'routes applied: 2 added, - removed, 1,234 live',
    ],
    [
      'leaves out what a sync has not decided',
      [
        { ...SYNC, status: 'applied', added: 1, removed: 0, pendingAbsences: 2 },
        'route sync finished',
      ],
      'routes applied: 1 added, 0 removed, 1,234 live',
    ],
    [
      'leaves out a sync that changed nothing',
      [{ ...SYNC, status: 'unchanged' }, 'route sync finished'],
    ],
    [
      'shows only the message of an error',
      [{ err: new Error('broken') }, 'failed'],
      'failed  role=worker  err=broken',
    ],
    [
      'leaves out a change that a webhook repeats',
      [{ seq: 7, outcome: 'verified', text: 'sold out' }, 'webhook received'],
    ],
    [
      'says why a webhook was refused',
      [{ seq: 7, outcome: 'refused', text: 'the signature is wrong' }, 'webhook received'],
      'webhook 7 refused: the signature is wrong',
    ],
    [
      'leaves out ids of requests',
      [{ by: 'key 1', requestId: 'r-1', what: ['checks'] }, 'work paused'],
      'work paused  role=worker  by=key 1  what=["checks"]',
    ],
    [
      'has no control characters',
      [{ city: 'a\u001b[2J\nb' }, 'place \u202e changed'],
      'place   changed  role=worker  city=a [2J b',
    ],
    ['leaves out what a step has shown', [{}, 'ready']],
  ])('%s', (_, [fields, message], text) => {
    const { log, plain } = aTerminalLog()

    log.child({ role: 'worker' }).info(fields, message)

    const shown = plain().map((line) => line.replace(/^\d\d:\d\d:\d\d {2}/, ''))
    expect(shown).toEqual(text === undefined ? [] : [`${text}\n`])
  })

  it('is coloured from warn on', () => {
    const { log, written } = aTerminalLog()

    log.error('request failed')
    log.warn('ready')
    log.info('fine')

    expect(written[0]).toContain('\u001b[31mrequest failed')
    expect(written[1]).toContain('\u001b[33mready')
    expect(written[2]).not.toContain('\u001b[3')
  })
})
