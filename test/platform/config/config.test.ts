import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseEnv } from 'node:util'
import { describe, expect, it } from 'vitest'
import {
  ConfigError,
  followSecretFile,
  loadConfig,
  secretsOf,
} from '../../../src/platform/config/config.ts'
import { redactedConfig, SETTING_GROUPS, SETTINGS } from '../../../src/platform/config/settings.ts'
import { configOf, faultsOf, folderWith } from './config-fixture.ts'

const TOKEN = 'CANARY-0123456789'

describe('the configuration', () => {
  it('takes values from the environment, and parses numbers', () => {
    const env = {
      DATABASE_URL: 'postgres://farewatch:secret@db.internal:6543/fares?sslmode=require',
      REDIS_URL: 'rediss://cache.internal',
      UPSTREAM_BASE_URL: 'https://fares.example/api/v2',
      UPSTREAM_ACCESS_TOKEN: TOKEN,
      UPSTREAM_REQUESTS_PER_SECOND: '0.5',
      ROUTE_SYNC_SCHEDULE: '@hourly',
      LOSS_CONFIRMATIONS: '3',
      API_PORT: '0',
      FAREWATCH_HOME: '/var/lib/farewatch',
      LOG_LEVEL: 'debug',
    }

    expect(configOf(env)).toMatchObject({
      ...env,
      UPSTREAM_REQUESTS_PER_SECOND: 0.5,
      LOSS_CONFIRMATIONS: 3,
      API_PORT: 0,
    })
  })

  it('takes from .env what the environment does not set, and counts an empty value as unset', () => {
    const config = configOf(
      { LOG_LEVEL: 'warn', API_HOST: '' },
      'LOG_LEVEL=debug\nAPI_PORT=7000 # the API\nROUTE_SYNC_SCHEDULE="*/5 * * * *"\nADMIN_PORT=\n',
    )

    expect(config).toMatchObject({
      LOG_LEVEL: 'warn',
      API_PORT: 7000,
      ROUTE_SYNC_SCHEDULE: '*/5 * * * *',
      ADMIN_PORT: 9091,
    })
  })

  it('reports all faults at once, each with its name', () => {
    const env = {
      DATABASE_URL: 'mysql://db',
      API_PORT: '80a',
      ROUTE_SYNC_SCHEDULE: 'hourly',
      LOG_LEVEL: 'loud',
      UPSTREAM_TOKEN: 'x',
    }

    expect(() => configOf(env, 'GAIN_CONFIRMATIONS=0\n')).toThrow(ConfigError)
    expect(() => configOf(env, 'GAIN_CONFIRMATIONS=0\n')).toThrow(/has 6 faults:\n/)
    expect(faultsOf(env, 'GAIN_CONFIRMATIONS=0\n').map((fault) => fault.split(' ')[0])).toEqual([
      'UPSTREAM_TOKEN',
      'ROUTE_SYNC_SCHEDULE',
      'GAIN_CONFIRMATIONS',
      'API_PORT',
      'DATABASE_URL',
      'LOG_LEVEL',
    ])
  })
})

describe('a secret in a file', () => {
  it('is read without its line end', () => {
    const folder = folderWith({ token: `${TOKEN}\n`, url: 'postgres://db/fares\r\n' })
    const env = {
      UPSTREAM_ACCESS_TOKEN_FILE: path.join(folder, 'token'),
      DATABASE_URL_FILE: path.join(folder, 'url'),
    }

    expect(configOf(env)).toMatchObject({
      UPSTREAM_ACCESS_TOKEN: TOKEN,
      DATABASE_URL: 'postgres://db/fares',
    })
  })

  it('must exist, and not be given in addition to the secret itself', () => {
    const folder = folderWith({ token: TOKEN })
    const file = { UPSTREAM_ACCESS_TOKEN_FILE: path.join(folder, 'token') }

    expect(faultsOf({ UPSTREAM_ACCESS_TOKEN_FILE: '/nowhere/token' })).toEqual([
      expect.stringMatching(/^UPSTREAM_ACCESS_TOKEN_FILE cannot be read: ENOENT.*\/nowhere\/token/),
    ])
    expect(faultsOf({ ...file, UPSTREAM_ACCESS_TOKEN: TOKEN })).toEqual([
      'UPSTREAM_ACCESS_TOKEN and UPSTREAM_ACCESS_TOKEN_FILE are both set: keep one',
    ])
  })

  it.each([
    ['\n', 'UPSTREAM_ACCESS_TOKEN must have at least 6 characters'],
    ['short', 'UPSTREAM_ACCESS_TOKEN must have at least 6 characters'],
  ])('must contain a valid secret, unlike %j', (content, fault) => {
    const folder = folderWith({ token: content })

    expect(faultsOf({ UPSTREAM_ACCESS_TOKEN_FILE: path.join(folder, 'token') })).toEqual([fault])
  })
})

describe('an unknown setting', () => {
  it.each([
    'UPSTREAM_ACCESS_TOKN',
    'FAREWATCH_HOME_FILE',
    // Of earlier versions.
    'MIN_RECHECK_SECONDS',
    'EMAIL_ALLOWED',
  ])('is a fault in the environment: %s', (name) => {
    expect(faultsOf({ [name]: 'x' })).toEqual([
      `${name} is not a setting: docs/reference/settings.md lists them`,
    ])
  })

  it.each(['API_PROT', 'log_level', 'SOMETHING_ELSE'])('is a fault in .env: %s', (name) => {
    expect(faultsOf({}, `${name}=x\n`)).toEqual([
      `${name} is not a setting: docs/reference/settings.md lists them`,
    ])
  })

  it('is reported without its value, which may be a secret', () => {
    expect(faultsOf({ UPSTREAM_TOKEN: TOKEN }, `TOKEN=${TOKEN}\n`).join()).not.toContain(TOKEN)
  })

  it('is accepted as a service link of Kubernetes, also in place of a setting', () => {
    const links = {
      FAREWATCH_SERVICE_HOST: '10.0.0.7',
      FAREWATCH_SERVICE_PORT: '80',
      FAREWATCH_SERVICE_PORT_HTTP: '80',
      FAREWATCH_PORT: 'tcp://10.0.0.7:80',
      FAREWATCH_PORT_80_TCP: 'tcp://10.0.0.7:80',
      FAREWATCH_PORT_80_TCP_PROTO: 'tcp',
      FAREWATCH_PORT_80_TCP_ADDR: '10.0.0.7',
      WEBHOOK_SERVICE_HOST: '10.0.0.8',
      API_PORT: 'tcp://10.0.0.1:80',
      ADMIN_PORT: 'tcp://10.0.0.2:9091',
    }

    const { API_PORT, ADMIN_PORT } = configOf(links)

    expect([API_PORT, ADMIN_PORT]).toEqual([8080, 9091])
    expect(faultsOf({ API_PORT: '80a', FAREWATCH_HOST: '10.0.0.7' })).toHaveLength(2)
  })
})

const SECRETS = {
  DATABASE_URL: 'postgres://canary-user:canary%2Fpg@db.internal:6543/fares?password=canary-query',
  REDIS_URL: 'rediss://:canary-redis@cache.internal/2',
  UPSTREAM_ACCESS_TOKEN: 'canary-token',
  ENCRYPTION_KEY: 'canary-key-of-thirty-two-characters',
  SMTP_URL: 'smtps://canary-user:canary%20smtp@mail.internal:465',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'https://canary-user:canary-otlp@collector.internal',
  HEARTBEAT_URL: 'https://pings.internal/canary-of-a-heartbeat',
  OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20canary-bearer, x-key=canary-header',
}

describe('the printed configuration', () => {
  it('has one line for each setting, in order, with its example', () => {
    const lines = redactedConfig(configOf({}))

    expect(lines.map(({ name, example }) => [name, example])).toEqual(
      Object.entries(SETTINGS).map(([name, { example }]) => [name, example]),
    )
    expect(lines.every((line) => line.default)).toBe(true)
    expect(lines.find(({ name }) => name === 'DATABASE_URL')?.value).toBeNull()
  })

  it('contains no secret, but the addresses of the stores', () => {
    const lines = redactedConfig(configOf({ ...SECRETS, API_PORT: '81' }))

    expect(JSON.stringify(lines)).not.toContain('canary')
    expect(lines.filter((line) => !line.default).map(({ name, value }) => [name, value])).toEqual([
      ['UPSTREAM_ACCESS_TOKEN', '[set]'],
      ['API_PORT', 81],
      ['ENCRYPTION_KEY', '[set]'],
      ['SMTP_URL', 'smtps://mail.internal:465'],
      ['DATABASE_URL', 'postgres://db.internal:6543/fares'],
      ['REDIS_URL', 'rediss://cache.internal/2'],
      ['OTEL_EXPORTER_OTLP_ENDPOINT', 'https://collector.internal/…'],
      ['OTEL_EXPORTER_OTLP_HEADERS', '[set]'],
      ['HEARTBEAT_URL', 'https://pings.internal/…'],
    ])
  })

  it('shows no part of a secret that happens to be a URL', () => {
    const lines = redactedConfig(configOf({ UPSTREAM_ACCESS_TOKEN: 'token://canary/secret' }))

    expect(JSON.stringify(lines)).not.toContain('canary')
  })
})

describe('the scrubbed secrets', () => {
  it('are the token, the key, and the passwords of URLs, encoded and decoded', () => {
    expect(new Set(secretsOf(configOf(SECRETS)))).toEqual(
      new Set([
        'Bearer canary-bearer',
        'Bearer%20canary-bearer',
        'canary smtp',
        'canary%20smtp',
        'canary%2Fpg',
        'canary-bearer',
        'canary-header',
        'canary-of-a-heartbeat',
        'canary-key-of-thirty-two-characters',
        'canary-otlp',
        'canary-query',
        'canary-redis',
        'canary-token',
        'canary/pg',
      ]),
    )
  })
})

it('the file of a secret is read again, and a new value counts when two readings agree', async () => {
  const file = path.join(folderWith({ token: 'first-token\n' }), 'token')
  const readings = [
    ...['first-token', '', '', 'sec', 'sec', 'second', 'second-token', 'second-token\n'],
    ...['second-token', undefined, undefined, 'second-token', 'first-token', 'first-token'],
  ]
  const ending = new AbortController()
  const changes: string[] = []
  const clock = {
    now: () => new Date(),
    sleep: async () => {
      const text = readings.shift()
      if (text === undefined) rmSync(file, { force: true })
      else writeFileSync(file, text)
      if (readings.length === 0) ending.abort()
    },
  }

  await followSecretFile(
    {
      name: 'UPSTREAM_ACCESS_TOKEN',
      value: 'first-token',
      clock,
      signal: ending.signal,
      onChange: async (value) => void changes.push(value),
    },
    { UPSTREAM_ACCESS_TOKEN_FILE: file },
  )

  expect(changes).toEqual(['second-token', 'first-token'])
})

const EXAMPLE = readFileSync(new URL('../../../.env.example', import.meta.url), 'utf8')

/** A setting in the example: its description and its default, both as comments. */
const SETTING = /^# (?<about>.+)\n#(?<name>[A-Z_]+)=(?<preset>.*)$/gm

const GROUP = /^## (.+)$/m

it('.env.example has every setting, in its group, with its description and default', () => {
  const [, ...parts] = EXAMPLE.split(GROUP)
  const shown = parts.map((part, at) =>
    at % 2 === 0 ? part : [...part.matchAll(SETTING)].map(({ groups }) => ({ ...groups })),
  )

  expect(shown).toEqual(
    Object.entries(SETTING_GROUPS).flatMap(([group, settings]) => [
      group,
      Object.entries(settings).map(([name, { about, secret, preset }]) => ({
        about: secret ? `${about}; or ${name}_FILE` : about,
        name,
        preset: String(preset ?? ''),
      })),
    ]),
  )
})

it('.env.example sets nothing unless edited', () => {
  expect(parseEnv(EXAMPLE)).toEqual({})
})

it('.env.example with all lines uncommented gives the default configuration', () => {
  const allSet = parseEnv(EXAMPLE.replace(/^#(?=[A-Z])/gm, ''))

  expect(new Set(Object.keys(allSet))).toEqual(new Set(Object.keys(SETTINGS)))
  expect(loadConfig(allSet, '/nowhere')).toEqual(loadConfig({}, '/nowhere'))
})

const WHOLE = 'must be a whole number from'

it('each setting is in one group, and its example is a value', () => {
  const groups = Object.values(SETTING_GROUPS).flatMap((settings) => Object.entries(settings))

  expect(groups.map(([name]) => name)).toEqual(Object.keys(SETTINGS))
  for (const [name, { example, parse }] of groups) {
    expect(example, name).not.toBe('')
    expect(parse(example), name).not.toHaveProperty('fault')
  }
})

describe('a value', () => {
  it.each([
    ['API_PORT', '65536', `${WHOLE} 0 to 65535, not "65536"`],
    ['API_PORT', '1e3', `${WHOLE} 0 to 65535, not "1e3"`],
    ['API_HOST', 'localhost', 'must be an IP address such as "127.0.0.1", not "localhost"'],
    ['MIN_INTERVAL_SECONDS', '86401', `${WHOLE} 1 to 86400, not "86401"`],
    ['UPSTREAM_REQUESTS_PER_SECOND', '0', 'must be a number from 0.01 to 10000, not "0"'],
    ['LOG_LEVEL', 'INFO', 'must be one of trace, debug, info, warn, error, fatal, not "INFO"'],
    ['ROUTE_SYNC_SCHEDULE', 'hourly', 'must be a cron pattern such as "0 */2 * * *", not "hourly"'],
    ['AVAILABILITY_SYNC_SCHEDULE', '99 * * * *', 'got value 99'],
    [
      'ENCRYPTION_KEY',
      'x'.repeat(31),
      'at least 32 characters, as "openssl rand -base64 32" prints',
    ],
    ['WEBHOOK_ALLOWED_NETWORKS', '10.0.0.0', 'must be a list of networks such as 10.1.0.0/16'],
    ['WEBHOOK_ALLOWED_NETWORKS', '10.0.0.0/8:0', 'must be a list of networks such as 10.1.0.0/16'],
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
    ['DATABASE_URL', 'postgres://host:port/fares', FORM],
    ['DATABASE_URL', 'postgres://u:CANARY#word@host/fares', 'in its password # is %23'],
    [
      'DATABASE_URL',
      'postgres://u:p@CANARY#word@host/fares',
      'must hold no #, in its password # is',
    ],
    ['REDIS_URL', 'http://localhost:6379', `${FORM} redis://… or rediss://…`],
    ['REDIS_URL', 'redis://:p@CANARY#word@host', 'must hold no #, in its password # is %23'],
    ['UPSTREAM_BASE_URL', 'ftp://fares.example', `${FORM} http://… or https://…`],
    ['UPSTREAM_BASE_URL', 'https://me@fares.example', BARE],
    ['UPSTREAM_BASE_URL', 'https://me:CANARY@fares.example', BARE],
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
    ['UPSTREAM_REQUESTS_PER_SECOND', '2.50'],
    ['API_HOST', '0.0.0.0'],
    ['SMTP_URL', 'smtp://user:p%40ss@mail.example:587'],
    ['EMAIL_FROM', 'Fares <fares@agency.example>'],
    ['SLACK_HOSTS', 'hooks.slack.com, chat.example:8065'],
  ])('is accepted: %s="%s"', (name, value) => {
    expect(faultsOf({ [name]: value })).toEqual([])
  })
})
