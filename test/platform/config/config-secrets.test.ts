import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { createScrub } from '../../../src/platform/base/secrets.ts'
import { followSecretFile, secretsOf } from '../../../src/platform/config/config.ts'
import { redactedConfig, SETTINGS } from '../../../src/platform/config/settings.ts'
import { configOf, folderWith } from './config-fixture.ts'

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

  it('shows no part of a URL without a host', () => {
    const lines = redactedConfig(configOf({ DATABASE_URL: 'postgres:///canary?host=/run' }))

    expect(lines.find(({ name }) => name === 'DATABASE_URL')?.value).toBe('[set]')
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

  it('are empty if no secret is set', () => {
    expect(secretsOf(configOf({ DATABASE_URL: 'postgres://db/fares' }))).toEqual([])
  })

  it('include a password with an unencoded percent sign', () => {
    const config = configOf({ DATABASE_URL: 'postgres://u:50%off-all@db/fares' })

    expect(secretsOf(config)).toEqual(['50%off-all'])
  })

  it('exclude a password that is part of ordinary words', () => {
    const config = configOf({
      DATABASE_URL: 'postgres://u:test@db/fares',
      REDIS_URL: 'redis://:1@r',
    })

    expect(secretsOf(config)).toEqual([])
  })

  it('are masked in every encoding of a URL', () => {
    const scrub = createScrub(secretsOf(configOf(SECRETS)))

    expect(scrub(JSON.stringify(SECRETS))).not.toMatch(/canary[-/%](?!user)/)
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
