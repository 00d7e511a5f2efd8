import { describe, expect, it } from 'vitest'
import { sendsTokenInClear, warnOfTokenInClear } from '../../src/app/settings-for.ts'
import { judge } from '../../src/health/checks.ts'
import { DOCTOR_CHECKS } from '../../src/health/doctor-checks.ts'
import type { Config } from '../../src/platform/config/settings.ts'
import { reading } from '../health/doctor-fixture.ts'
import { collectLog } from '../support/collected-log.ts'

describe('a warning of an access token in clear', () => {
  const warningsFor = (url: string | undefined, token: string | undefined) => {
    const { log, lines } = collectLog('warn')
    const config = { UPSTREAM_BASE_URL: url, UPSTREAM_ACCESS_TOKEN: token } as Config
    warnOfTokenInClear({ config, log })
    const shell = { ...reading.shell, sendsTokenInClear: sendsTokenInClear(config) }
    const doctor = judge(DOCTOR_CHECKS, { ...reading, shell })
    return [lines.length, doctor.length]
  }

  it.each([
    ['http://fares.example', 'a-token', 1],
    ['http://10.0.0.7:8080/fares', 'a-token', 1],
    ['https://fares.example', 'a-token', 0],
    ['http://127.0.0.1:8080', 'a-token', 0],
    ['http://fares.example', undefined, 0],
    [undefined, 'a-token', 0],
  ])(
    // Fault: The upstream's address is `http`.
    'is given by the log and by doctor for http to another machine: %s, %s',
    (url, token, count) => {
      expect(warningsFor(url, token)).toEqual([count, count])
    },
  )
})
