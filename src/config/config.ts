import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parseEnv } from 'node:util'
import { AppError } from '../base/errors.ts'
import { MIN_SECRET_CHARS } from '../base/secrets.ts'
import { percentDecoded } from '../base/text.ts'
import { GUARD_SETTINGS } from './guard-settings.ts'
import { nearestName } from './nearest-name.ts'
import {
  address,
  choice,
  cron,
  decimal,
  integer,
  type Setting,
  secret,
  text,
  url,
} from './settings.ts'

/**
 * Every setting, by its name in the environment and in `.env`. A secret may also be given as `NAME_FILE`, the
 * path of a file that holds it.
 */
export const SETTINGS = {
  DATABASE_URL: url('PostgreSQL 18; unset: a private one in FAREWATCH_HOME', {
    protocols: ['postgres:', 'postgresql:'],
    secret: true,
  }),
  REDIS_URL: url('Redis for the queue; unset: the queue lives in PostgreSQL', {
    protocols: ['redis:', 'rediss:'],
    secret: true,
  }),
  UPSTREAM_BASE_URL: url('the fare interface; unset: a sandbox of ours', {
    protocols: ['http:', 'https:'],
  }),
  UPSTREAM_ACCESS_TOKEN: secret('credential of the fare interface'),
  UPSTREAM_REQUESTS_PER_SECOND: decimal('budget of upstream requests', {
    min: 0.01,
    max: 1000,
    preset: 5,
  }),
  ROUTE_SYNC_SCHEDULE: cron('when the routes list is pulled (cron, UTC)', '0 */2 * * *'),
  AVAILABILITY_SYNC_SCHEDULE: cron(
    'when the with-availability list is pulled (cron, UTC)',
    '15 */2 * * *',
  ),
  ROUTE_ABSENCE_CONFIRMATIONS: integer(
    'accepted lists in a row that must lack a route before it is removed',
    { min: 1, max: 100, preset: 2 },
  ),
  ...GUARD_SETTINGS,
  SNAPSHOT_RETENTION_DAYS: integer('how long the lists of runs are kept', {
    min: 1,
    max: 3650,
    preset: 30,
  }),
  MIN_RECHECK_SECONDS: integer('shortest interval between two checks of a fare', {
    min: 1,
    max: 86_400,
    preset: 60,
  }),
  LOSS_CONFIRMATIONS: integer('answers in a row that must say a fare is gone', {
    min: 1,
    max: 10,
    preset: 2,
  }),
  GAIN_CONFIRMATIONS: integer('answers in a row that must say a fare is back', {
    min: 1,
    max: 10,
    preset: 1,
  }),
  API_HOST: address('address on which the API listens; 0.0.0.0 is every one', '127.0.0.1'),
  API_PORT: integer('port of the API', { min: 0, max: 65_535, preset: 8080 }),
  API_REQUESTS_PER_SECOND: decimal(
    'requests a second that a key, or an address without one, may make',
    {
      min: 0.1,
      max: 1_000_000,
      preset: 50,
    },
  ),
  ADMIN_HOST: address('address on which health and metrics listen', '127.0.0.1'),
  ADMIN_PORT: integer('port of health and metrics', { min: 0, max: 65_535, preset: 9091 }),
  WEDGED_AFTER_SECONDS: integer(
    'a worker that makes no progress for as long, though its stores answer, ends itself',
    { min: 10, max: 3600, preset: 180 },
  ),
  ENCRYPTION_KEY: secret('encrypts the resellers’ secrets at rest'),
  FAREWATCH_HOME: text('where what is embedded keeps its data', '.farewatch'),
  LOG_LEVEL: choice(
    'least level that is logged',
    ['trace', 'debug', 'info', 'warn', 'error', 'fatal'],
    'info',
  ),
} as const satisfies Record<string, Setting<unknown>>

export type SettingName = keyof typeof SETTINGS
export type Config = {
  readonly [Name in SettingName]: (typeof SETTINGS)[Name] extends Setting<infer T> ? T : never
}
export type Environment = Readonly<Record<string, string | undefined>>

/** Everything that is wrong with the configuration, at once and by name. */
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
 * Reads the configuration from the environment, and below it from `.env` in the working folder.
 * Throws ConfigError, which names every fault.
 */
export function loadConfig(env: Environment = process.env, folder = process.cwd()): Config {
  const faults: string[] = []
  const dotenv = readDotenv(path.join(folder, '.env'), faults)
  faults.push(...strangers(env, dotenv))
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
 * The values that no output may hold. A password of a URL that is shorter than what we demand of a secret is not
 * among them: it would mask ordinary words and numbers everywhere.
 */
export function secretsOf(config: Config): string[] {
  const passwords = [config.DATABASE_URL, config.REDIS_URL]
    .flatMap((given) => (given === undefined ? [] : passwordsOf(new URL(given))))
    .filter((password) => password.length >= MIN_SECRET_CHARS)
  const secrets = [config.UPSTREAM_ACCESS_TOKEN, config.ENCRYPTION_KEY, ...passwords]
  return [...new Set(secrets.filter((value) => value !== undefined))]
}

/** As spelled in the URL, and as it is; drivers take one from the query too. */
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

/** Names that only we can have meant: a misspelt setting would otherwise be a default that nobody chose. */
const OURS = /^(UPSTREAM|ROUTE|AVAILABILITY|GUARD|SNAPSHOT|FAREWATCH|LOSS|GAIN|MIN_RECHECK|WEDGED)_/
/** Variables that the compose file reads from the same `.env`, or that are set for it in a shell. */
const COMPOSE = /^(COMPOSE|POSTGRES|PROMETHEUS|GRAFANA)_|^FAREWATCH_(IMAGE|WORKERS)$/

function strangers(env: Environment, dotenv: Environment): string[] {
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
