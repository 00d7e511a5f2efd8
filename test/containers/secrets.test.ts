import { spawnSync } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseEnv } from 'node:util'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { loadConfig } from '../../src/platform/config/config.ts'
import { COMPOSE, ROOT, SERVICES } from './compose-file.ts'

describe('deploy/prepare', () => {
  let folder = ''
  beforeEach(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'farewatch-deploy-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    mkdirSync(path.join(folder, 'deploy'))
    cpSync(path.join(ROOT, 'deploy/prepare'), path.join(folder, 'deploy/prepare'))
  })

  const prepare = (...args: readonly string[]) =>
    spawnSync(path.join(folder, 'deploy/prepare'), args, { encoding: 'utf8' })
  const secret = (name: string) =>
    readFileSync(path.join(folder, 'deploy/secrets', name), 'utf8').trim()
  const secretsMade = () =>
    Object.fromEntries(
      readdirSync(path.join(folder, 'deploy/secrets')).map((name) => [name, secret(name)]),
    )

  it('makes every secret that docker-compose.yml reads, for the demo', () => {
    const { status } = prepare('demo')

    expect(status).toBe(0)
    const wanted = Object.values(COMPOSE.secrets).map(({ file }) => path.basename(file))
    expect(new Set(Object.keys(secretsMade()))).toEqual(new Set(wanted))
  })

  it('makes secrets that the settings accept', () => {
    prepare('demo')

    const config = loadConfig(
      {
        DATABASE_URL_FILE: path.join(folder, 'deploy/secrets/database-url'),
        REDIS_URL_FILE: path.join(folder, 'deploy/secrets/redis-url'),
        ENCRYPTION_KEY_FILE: path.join(folder, 'deploy/secrets/encryption-key'),
        UPSTREAM_ACCESS_TOKEN_FILE: path.join(folder, 'deploy/secrets/upstream-token'),
        ENCRYPTION_KEY_PREVIOUS_FILE: path.join(folder, 'deploy/secrets/encryption-key-previous'),
        SMTP_URL_FILE: path.join(folder, 'deploy/secrets/smtp-url'),
      },
      folder,
    )

    expect(new URL(config.DATABASE_URL ?? '').password).toBe(secret('farewatch-password'))
    expect(new URL(config.REDIS_URL ?? '').password).toBe(secret('redis-password'))
    expect(secret('redis.conf')).toBe(`requirepass ${secret('redis-password')}`)
    expect(config.UPSTREAM_BASE_URL).toBe('http://sandbox:8090')
    expect(config.UPSTREAM_ACCESS_TOKEN).toBe('sandbox-token')
    expect(config.SMTP_URL).toBeUndefined()
  })

  it('lets every user of the containers, but no other user of the machine, read the secrets', () => {
    prepare()

    const modeOf = (name: string) => statSync(path.join(folder, name)).mode & 0o777
    expect(modeOf('deploy/secrets')).toBe(0o700)
    expect(modeOf('deploy/secrets/database-url')).toBe(0o444)
  })

  it('writes an .env that starts the demo', () => {
    prepare('demo')

    const env = parseEnv(readFileSync(path.join(folder, '.env'), 'utf8'))
    const profiles = new Set(SERVICES.flatMap(([, service]) => service.profiles ?? []))
    expect(profiles).toContain(env.COMPOSE_PROFILES)
  })
})
