import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parseEnv } from 'node:util'
import { AppError } from '../base/errors.ts'
import { MIN_SECRET_CHARS } from '../base/secrets.ts'
import { percentDecoded } from '../base/text.ts'
import { nearestName } from './nearest-name.ts'
import type { Setting } from './setting-types.ts'
import { type Config, SETTINGS } from './settings.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** All faults of the configuration, each with the name of its setting. */
export class ConfigError extends AppError {
  override readonly name = 'ConfigError'
  override readonly code = 'config.invalid'
  override readonly retryable = false

  constructor(faults: readonly string[]) {
    super(
      `the configuration has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n${faults.map((fault) => `  ${fault}`).join('\n')}`,
    )
  }
}

/**
 * Reads the configuration from the environment, then from `.env` in the working folder. Throws a ConfigError that names
 * every fault.
 */
export function loadConfig(env: Environment = process.env, folder = process.cwd()): Config {
  const faults: string[] = []
  const dotenv = readDotenv(path.join(folder, '.env'), faults)
  faults.push(...unknownNames(env, dotenv))
  const merged = { ...dotenv, ...definedOnly(env) }

  const values = Object.entries(SETTINGS).map(([name, setting]) => {
    const given = readGiven(name, setting, merged, faults)
    const parsed = given === undefined ? { value: setting.preset } : setting.parse(given)
    if ('fault' in parsed) faults.push(`${name} ${parsed.fault}`)
    return [name, 'fault' in parsed ? undefined : parsed.value]
  })
  if (faults.length > 0) throw new ConfigError(faults)
  return Object.fromEntries(values) as Config
}

/**
 * The values that no output may contain. A password in a URL that is shorter than a secret may be is left out: it would
 * mask ordinary words and numbers.
 */
export function secretsOf(config: Config): string[] {
  const passwords = [config.DATABASE_URL, config.REDIS_URL, config.SMTP_URL]
    .flatMap((given) => (given === undefined ? [] : passwordsOf(new URL(given))))
    .filter((password) => password.length >= MIN_SECRET_CHARS)
  const secrets = [
    config.UPSTREAM_ACCESS_TOKEN,
    config.ENCRYPTION_KEY,
    config.ENCRYPTION_KEY_PREVIOUS,
    ...passwords,
  ]
  return [...new Set(secrets.filter((value) => value !== undefined))]
}

/** The password of a URL, encoded and decoded. Drivers also accept one in the query. */
function passwordsOf({ password, searchParams }: URL): string[] {
  return [password, percentDecoded(password), ...searchParams.getAll('password')]
}

function readDotenv(file: string, faults: string[]): Environment {
  let content: string
  try {
    content = readFileSync(file, 'utf8')
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ENOENT')
      faults.push(`.env cannot be read: ${(err as Error).message}`)
    return {}
  }
  return parseEnv(content)
}

function definedOnly(env: Environment): Environment {
  return Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value !== ''),
  )
}

function readGiven(
  name: string,
  setting: Setting<unknown>,
  env: Environment,
  faults: string[],
): string | undefined {
  const direct = env[name] === '' ? undefined : env[name]
  const file = setting.secret ? env[`${name}_FILE`] : undefined
  if (file === undefined || file === '') return direct
  if (direct !== undefined) {
    faults.push(`${name} and ${name}_FILE are both set: keep one`)
    return undefined
  }
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (err) {
    faults.push(`${name}_FILE cannot be read: ${(err as Error).message}`)
    return undefined
  }
}

/** Variables that can only be meant for farewatch. A misspelt one would otherwise leave a setting at its default. */
const OURS =
  /^(UPSTREAM|ROUTE|AVAILABILITY|GUARD|SNAPSHOT|FAREWATCH|LOSS|GAIN|MIN_RECHECK|WEDGED|WEBHOOK)_/
/** Variables for docker compose, which reads the same `.env`. */
const COMPOSE = /^(COMPOSE|POSTGRES|PROMETHEUS|GRAFANA)_|^FAREWATCH_(IMAGE|WORKERS)$/

function unknownNames(env: Environment, dotenv: Environment): string[] {
  const known = new Set(
    Object.entries(SETTINGS).flatMap(([name, setting]) =>
      setting.secret ? [name, `${name}_FILE`] : [name],
    ),
  )
  const unknown = [...Object.keys(env).filter((name) => OURS.test(name)), ...Object.keys(dotenv)]
    .filter((name) => !COMPOSE.test(name))
    .filter((name) => !known.has(name))
  return [...new Set(unknown)].map((name) => {
    const near = nearestName(name, Object.keys(SETTINGS))
    return `${name} is not a setting${near === undefined ? '' : `: did you mean ${near}?`}`
  })
}
