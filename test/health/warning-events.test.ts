import { describe, expect, it } from 'vitest'
import { codeHelps, DEGRADED } from '../../grafana/source/alerts.ts'
import { STATUS_CHECKS } from '../../src/health/checks.ts'
import { DOCTOR_CHECKS } from '../../src/health/doctor-checks.ts'
import type { StatusWarning } from '../../src/health/status-shapes.ts'
import { advanceWarnings, type TrackedWarning } from '../../src/health/warning-events.ts'

const warningOf = (level: StatusWarning['level'], code = 'checks_paused'): StatusWarning => ({
  about: 'fares',
  code,
  level,
  subject: null,
  text: 'No fare is checked.',
  since: null,
  until: null,
  command: 'bin/farewatch audit list',
  todo: 'Resume them.',
})

/** Reads warnings once a minute, by letter: w, b, or . for none. Returns the minute and the event of each that was sent. */
function sentOf(readings: string): string[] {
  let tracked: readonly TrackedWarning[] = []
  return [...readings].flatMap((letter, minute) => {
    const found = letter === '.' ? [] : [warningOf(letter === 'w' ? 'warn' : 'bad')]
    const advanced = advanceWarnings(tracked, found, minute * 60_000)
    tracked = advanced.tracked
    return advanced.events.map(({ type, data }) => {
      const { message } = data as { message: string }
      return `${minute} ${type.replace('warning.', '')} ${message.split(':')[0]}`
    })
  })
}

describe('the events of a warning', () => {
  it.each([
    ['begins when two readings have it', 'ww', ['1 began Warning']],
    ['is nothing that one reading has alone', 'w.....', []],
    ['grows worse once', 'wwbwb', ['1 began Warning', '2 worsened Problem, worse than before']],
    [
      'ends when it is gone for five minutes',
      'bbb......',
      ['1 began Problem', '8 ended Ended after 3 min'],
    ],
    ['goes on when it comes back sooner', 'bb...bb....b', ['1 began Problem']],
    [
      'that begins five times in an hour is one message, and one when it rests',
      `${'b.'.repeat(20)}${'.'.repeat(70)}`,
      ['8 flapping Problem, 5 times in an hour', '99 ended Ended after 39 min'],
    ],
    [
      'that begins five times in an hour and stays is one message more when it ends',
      `${'b.'.repeat(5)}${'b'.repeat(70)}......`,
      ['8 flapping Problem, 5 times in an hour', '85 ended Ended after 1 h 20 min'],
    ],
    [
      'that begins often over hours is not flapping',
      `bb${'.'.repeat(18)}`.repeat(4),
      [0, 20, 40, 60].flatMap((from) => [
        `${from + 1} began Problem`,
        `${from + 7} ended Ended after 2 min`,
      ]),
    ],
  ])('a warning that %s', (_name, readings, sent) => {
    expect(sentOf(readings)).toEqual(sent)
  })

  it('several warnings of one code are one, with the worse level and both texts', () => {
    const both = [warningOf('bad'), { ...warningOf('warn'), text: 'No list is fetched.' }]
    const { tracked } = advanceWarnings([], both, 0)

    const { events } = advanceWarnings(tracked, both, 60_000)

    expect(events).toMatchObject([
      {
        type: 'warning.began',
        data: {
          level: 'bad',
          message: 'Problem: No fare is checked. No list is fetched. Resume them.',
        },
      },
    ])
  })

  it('what wakes a person is what has a critical alert', () => {
    const checks = Object.entries({ ...DOCTOR_CHECKS, ...STATUS_CHECKS })
    const alerts = new Map(codeHelps().map(({ code, alert }) => [code, alert?.name]))
    const isAlert = (code: string) => ![undefined, DEGRADED].includes(alerts.get(code))

    const differing = checks
      .filter(
        ([code, { alert, wakes }]) => (alert !== undefined || wakes === true) !== isAlert(code),
      )
      .map(([code]) => code)

    // DatabaseTrouble, the alert of their section, is about all that a database may be.
    expect(differing).toEqual(['database_down', 'database_read_only'])
  })
})
