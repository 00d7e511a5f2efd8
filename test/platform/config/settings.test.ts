import { describe, expect, it } from 'vitest'
import { SETTING_GROUPS, SETTINGS } from '../../../src/platform/config/settings.ts'
import { faultsOf } from './config-fixture.ts'

const WHOLE = 'must be a whole number from'

it('each setting is in one group, and its example is a value', () => {
  const groups = Object.values(SETTING_GROUPS).flatMap((settings) => Object.entries(settings))

  expect(groups.map(([name]) => name)).toEqual(Object.keys(SETTINGS))
  for (const [name, { example, parse }] of groups) {
    expect(example, name).not.toBe('')
    expect(parse(example), name).not.toHaveProperty('fault')
  }
})

it('the former key may be shorter than a new one, so that it can be replaced', () => {
  expect(faultsOf({ ENCRYPTION_KEY_PREVIOUS: 'a-short-key' })).toEqual([])
})

describe('a value', () => {
  it.each([
    ['API_PORT', '-1', `${WHOLE} 0 to 65535, not "-1"`],
    ['API_PORT', '65536', `${WHOLE} 0 to 65535, not "65536"`],
    ['API_PORT', '1e3', `${WHOLE} 0 to 65535, not "1e3"`],
    ['API_PORT', '5 ', `${WHOLE} 0 to 65535, not "5 "`],
    ['API_PORT', 'http', `${WHOLE} 0 to 65535, not "http"`],
    ['API_HOST', 'localhost', 'must be an IP address such as "127.0.0.1", not "localhost"'],
    ['ADMIN_HOST', '*', 'must be an IP address such as "127.0.0.1", not "*"'],
    ['ADMIN_PORT', 'NaN', `${WHOLE} 0 to 65535, not "NaN"`],
    ['ROUTE_ABSENCE_CONFIRMATIONS', '0', `${WHOLE} 1 to 100, not "0"`],
    ['MIN_INTERVAL_SECONDS', '86401', `${WHOLE} 1 to 86400, not "86401"`],
    ['LOSS_CONFIRMATIONS', '11', `${WHOLE} 1 to 10, not "11"`],
    ['GAIN_CONFIRMATIONS', '0', `${WHOLE} 1 to 10, not "0"`],
    ['UPSTREAM_REQUESTS_PER_SECOND', '0', 'must be a number from 0.01 to 10000, not "0"'],
    ['UPSTREAM_REQUESTS_PER_SECOND', '1e2', 'must be a number from 0.01 to 10000, not "1e2"'],
    ['UPSTREAM_REQUESTS_PER_SECOND', '5,5', 'must be a number from 0.01 to 10000, not "5,5"'],
    ['LOG_LEVEL', 'INFO', 'must be one of trace, debug, info, warn, error, fatal, not "INFO"'],
    ['LOG_LEVEL', 'toString', 'must be one of trace, debug, info, warn, error, fatal'],
    ['ROUTE_SYNC_SCHEDULE', 'hourly', 'must be a cron pattern such as "0 */2 * * *", not "hourly"'],
    ['ROUTE_SYNC_SCHEDULE', '0 */2 * *', 'it has 4 of five fields'],
    ['AVAILABILITY_SYNC_SCHEDULE', '99 * * * *', 'got value 99'],
    ['AVAILABILITY_SYNC_SCHEDULE', '0 0 30 2 *', 'must be a cron pattern such as'],
    [
      'ENCRYPTION_KEY',
      'x'.repeat(31),
      'at least 32 characters, as "openssl rand -base64 32" prints',
    ],
    ['WEBHOOK_ALLOWED_NETWORKS', '10.0.0.0', 'must be a list of networks such as 10.1.0.0/16'],
    ['WEBHOOK_ALLOWED_NETWORKS', '10.0.0.0/8:0', 'must be a list of networks such as 10.1.0.0/16'],
    ['WEBHOOK_ALLOWED_NETWORKS', '10.0.0.0/33', 'must be a list of networks such as 10.1.0.0/16'],
    ['WEBHOOK_ALLOWED_NETWORKS', '10.0.0.0/8, inside/8', 'must be a list of networks such as'],
    ['WEBHOOK_ALLOW_HTTP', 'yes', 'must be one of off, on'],
    ['UPSTREAM_ACCESS_TOKEN', '12345', 'must have at least 6 characters'],
    ['EMAIL_FROM', 'fares', 'not "fares"'],
    ['EMAIL_FROM', 'A <a@agency.example>, B <b@agency.example>', 'must have the form'],
    ['SLACK_HOSTS', 'https://hooks.slack.com/', '"https://hooks.slack.com/" is none'],
  ])('is refused if malformed: %s="%s"', (name, value, fault) => {
    const faults = faultsOf({ [name]: value })

    expect(faults).toHaveLength(1)
    expect(faults[0]?.startsWith(`${name} `)).toBe(true)
    expect(faults[0]).toContain(fault)
  })

  it('a network may have a port, as "farewatch receive" advises', () => {
    expect(faultsOf({ WEBHOOK_ALLOWED_NETWORKS: '10.0.0.0/8, 127.0.0.1/32:8093' })).toEqual([])
  })

  const FORM = 'must be a URL of the form'
  const BARE = 'must hold no user, no password, no query and no fragment'
  it.each([
    ['DATABASE_URL', 'localhost:5432/fares', `${FORM} postgres://… or postgresql://…`],
    ['DATABASE_URL', 'mysql://localhost/fares', `${FORM} postgres://… or postgresql://…`],
    ['DATABASE_URL', '/var/run/postgresql', `${FORM} postgres://… or postgresql://…`],
    ['DATABASE_URL', 'postgres://host:port/fares', FORM],
    ['DATABASE_URL', 'postgres://u:CANARY#word@host/fares', 'in its password # is %23'],
    [
      'DATABASE_URL',
      'postgres://u:p@CANARY#word@host/fares',
      'must hold no #, in its password # is',
    ],
    ['REDIS_URL', 'http://localhost:6379', `${FORM} redis://… or rediss://…`],
    ['REDIS_URL', 'localhost', `${FORM} redis://… or rediss://…`],
    ['REDIS_URL', 'redis://:p@CANARY#word@host', 'must hold no #, in its password # is %23'],
    ['UPSTREAM_BASE_URL', 'ftp://fares.example', `${FORM} http://… or https://…`],
    ['UPSTREAM_BASE_URL', 'fares.example', `${FORM} http://… or https://…`],
    ['UPSTREAM_BASE_URL', 'https://', `${FORM} http://… or https://…`],
    ['UPSTREAM_BASE_URL', 'https://me@fares.example', BARE],
    ['UPSTREAM_BASE_URL', 'https://me:CANARY@fares.example', BARE],
    ['UPSTREAM_BASE_URL', 'https://:CANARY@fares.example', BARE],
    ['UPSTREAM_BASE_URL', 'https://fares.example/?accessToken=CANARY', BARE],
    ['UPSTREAM_BASE_URL', 'https://fares.example/#CANARY', BARE],
    ['PUBLIC_URL', 'https://fares.example/?key=CANARY', BARE],
  ])(
    'is refused without printing it, because it may contain a credential: %s="%s"',
    (name, value, fault) => {
      const faults = faultsOf({ [name]: value })

      expect(faults).toHaveLength(1)
      expect(faults[0]).toMatch(new RegExp(`^${name} `))
      expect(faults[0]).toContain(fault)
      expect(faults[0]).not.toMatch(/CANARY/)
    },
  )

  it.each([
    ['DATABASE_URL', 'postgresql:///fares?host=/var/run/postgresql'],
    ['DATABASE_URL', 'postgres://user:p%23ss@[::1]:5432/fares'],
    ['REDIS_URL', 'redis://:password@127.0.0.1:6379/2'],
    ['UPSTREAM_BASE_URL', 'http://127.0.0.1:8090'],
    ['UPSTREAM_BASE_URL', 'https://fares.example/some/prefix/'],
    ['PUBLIC_URL', 'https://fares.example:8443/watched/'],
    ['UPSTREAM_REQUESTS_PER_SECOND', '10000'],
    ['UPSTREAM_REQUESTS_PER_SECOND', '2.50'],
    ['API_HOST', '0.0.0.0'],
    ['ADMIN_HOST', '::'],
    ['API_PORT', '65535'],
    ['ROUTE_SYNC_SCHEDULE', '30 */6 * * *'],
    ['SMTP_URL', 'smtp://user:p%40ss@mail.example:587'],
    ['EMAIL_FROM', 'Fares <fares@agency.example>'],
    ['SLACK_HOSTS', 'hooks.slack.com, chat.example:8065'],
  ])('is accepted: %s="%s"', (name, value) => {
    expect(faultsOf({ [name]: value })).toEqual([])
  })
})
