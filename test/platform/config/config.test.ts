import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { ConfigError, loadConfig } from '../../../src/platform/config/config.ts'
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

  it('takes from .env what the environment does not set', () => {
    const config = configOf(
      { LOG_LEVEL: 'warn' },
      'LOG_LEVEL=debug\nAPI_PORT=7000 # the API\nROUTE_SYNC_SCHEDULE="*/5 * * * *"\n',
    )

    expect(config).toMatchObject({
      LOG_LEVEL: 'warn',
      API_PORT: 7000,
      ROUTE_SYNC_SCHEDULE: '*/5 * * * *',
    })
  })

  it('counts an empty value as unset, in the environment and in .env', () => {
    const empty = { LOG_LEVEL: '', API_PORT: '', DATABASE_URL: '', UPSTREAM_ACCESS_TOKEN_FILE: '' }

    expect(configOf(empty, 'LOG_LEVEL=debug\nADMIN_PORT=\nENCRYPTION_KEY=\n')).toMatchObject({
      LOG_LEVEL: 'debug',
      API_PORT: 8080,
      ADMIN_PORT: 9091,
      DATABASE_URL: undefined,
      UPSTREAM_ACCESS_TOKEN: undefined,
      ENCRYPTION_KEY: undefined,
    })
  })

  it('ignores unrelated variables of the environment', () => {
    expect(faultsOf({ PATH: '/bin', PORT: '1', DATABASE_POOL: 'x', API_KEY: 'y' })).toEqual([])
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

  it('reports a .env that exists but cannot be read', () => {
    const folder = folderWith()
    mkdirSync(path.join(folder, '.env'))

    expect(() => loadConfig({}, folder)).toThrow(/has a fault:\n {2}\.env cannot be read: EISDIR/)
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

  it('may be named by .env', () => {
    const folder = folderWith({ token: TOKEN })

    const config = configOf({}, `UPSTREAM_ACCESS_TOKEN_FILE=${path.join(folder, 'token')}\n`)

    expect(config.UPSTREAM_ACCESS_TOKEN).toBe(TOKEN)
  })

  it('must exist', () => {
    expect(faultsOf({ UPSTREAM_ACCESS_TOKEN_FILE: '/nowhere/token' })).toEqual([
      expect.stringMatching(/^UPSTREAM_ACCESS_TOKEN_FILE cannot be read: ENOENT.*\/nowhere\/token/),
    ])
  })

  it('must not be given in addition to the secret itself', () => {
    const folder = folderWith({ token: TOKEN })
    const file = { UPSTREAM_ACCESS_TOKEN_FILE: path.join(folder, 'token') }
    const fault = 'UPSTREAM_ACCESS_TOKEN and UPSTREAM_ACCESS_TOKEN_FILE are both set: keep one'

    expect(faultsOf({ ...file, UPSTREAM_ACCESS_TOKEN: TOKEN })).toEqual([fault])
    expect(faultsOf(file, `UPSTREAM_ACCESS_TOKEN=${TOKEN}\n`)).toEqual([fault])
  })

  it.each([
    ['', 'UPSTREAM_ACCESS_TOKEN must have at least 6 characters'],
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

  it('is a fault even if empty, and one fault if both sources have it', () => {
    expect(faultsOf({ UPSTREAM_TOKEN: '' }, 'UPSTREAM_TOKEN=\n')).toHaveLength(1)
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

  it('is accepted if it belongs to docker compose', () => {
    const ofCompose = { COMPOSE_PROFILES: 'x', FAREWATCH_IMAGE: 'farewatch:1', GRAFANA_PORT: '1' }
    const lines = Object.entries(ofCompose).map(([name, value]) => `${name}=${value}\n`)

    expect(faultsOf({}, lines.join(''))).toEqual([])
    expect(faultsOf(ofCompose)).toEqual([])
  })
})
