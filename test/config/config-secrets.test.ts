import { describe, expect, it } from 'vitest'
import { createScrub } from '../../src/base/secrets.ts'
import { SETTINGS, secretsOf } from '../../src/config/config.ts'
import { redactedConfig } from '../../src/config/config-report.ts'
import { configOf } from './config-fixture.ts'

const SECRETS = {
  DATABASE_URL: 'postgres://canary-user:canary%2Fpg@db.internal:6543/fares?password=canary-query',
  REDIS_URL: 'rediss://:canary-redis@cache.internal/2',
  UPSTREAM_ACCESS_TOKEN: 'canary-token',
  ENCRYPTION_KEY: 'canary-key',
}

describe('the configuration that is shown', () => {
  it('has one line a setting, in order, with what it is about', () => {
    const lines = redactedConfig(configOf({}))

    expect(lines.map(({ name, about }) => [name, about])).toEqual(
      Object.entries(SETTINGS).map(([name, { about }]) => [name, about]),
    )
    expect(lines.every((line) => line.default)).toBe(true)
    expect(lines.find(({ name }) => name === 'DATABASE_URL')?.value).toBeNull()
  })

  it('holds no secret, but where the stores are', () => {
    const lines = redactedConfig(configOf({ ...SECRETS, API_PORT: '81' }))

    expect(JSON.stringify(lines)).not.toContain('canary')
    expect(lines.filter((line) => !line.default).map(({ name, value }) => [name, value])).toEqual([
      ['DATABASE_URL', 'postgres://db.internal:6543/fares'],
      ['REDIS_URL', 'rediss://cache.internal/2'],
      ['UPSTREAM_ACCESS_TOKEN', '[set]'],
      ['API_PORT', 81],
      ['ENCRYPTION_KEY', '[set]'],
    ])
  })

  it('shows nothing of a secret that happens to be a URL', () => {
    const lines = redactedConfig(configOf({ UPSTREAM_ACCESS_TOKEN: 'token://canary/secret' }))

    expect(JSON.stringify(lines)).not.toContain('canary')
  })

  it('shows nothing of an address without a host', () => {
    const lines = redactedConfig(configOf({ DATABASE_URL: 'postgres:///canary?host=/run' }))

    expect(lines[0]).toMatchObject({ name: 'DATABASE_URL', value: '[set]' })
  })
})

describe('the secrets that are scrubbed', () => {
  it('are the token, the key, and the passwords of URLs, as they are and as they are spelled', () => {
    expect(new Set(secretsOf(configOf(SECRETS)))).toEqual(
      new Set([
        'canary%2Fpg',
        'canary-key',
        'canary-query',
        'canary-redis',
        'canary-token',
        'canary/pg',
      ]),
    )
  })

  it('are none where none is set', () => {
    expect(secretsOf(configOf({ DATABASE_URL: 'postgres://db/fares' }))).toEqual([])
  })

  it('hold a password with a percent sign that nobody encoded', () => {
    const config = configOf({ DATABASE_URL: 'postgres://u:50%off-all@db/fares' })

    expect(secretsOf(config)).toEqual(['50%off-all'])
  })

  it('hold no password that is part of ordinary words', () => {
    const config = configOf({
      DATABASE_URL: 'postgres://u:test@db/fares',
      REDIS_URL: 'redis://:1@r',
    })

    expect(secretsOf(config)).toEqual([])
  })

  it('are masked however a URL spells them', () => {
    const scrub = createScrub(secretsOf(configOf(SECRETS)))

    expect(scrub(JSON.stringify(SECRETS))).not.toMatch(/canary[-/%](?!user)/)
  })
})
