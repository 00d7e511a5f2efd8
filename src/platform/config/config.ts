import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { parseEnv } from 'node:util'
import type { Clock } from '../base/clock.ts'
import { AppError } from '../base/errors.ts'
import { MIN_SECRET_CHARS } from '../base/secrets.ts'
import { percentDecoded } from '../base/text.ts'
import type { Setting } from './setting-types.ts'
import { type Config, SETTINGS, type SettingName } from './settings.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** All faults of the configuration, each with the name of its setting. */
export class ConfigError extends AppError {
  override readonly name = 'ConfigError'
  override readonly code = 'config.invalid'

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
  const given = withoutServiceLinks(env)
  faults.push(...unknownNames(given, dotenv))
  const merged = { ...dotenv, ...definedOnly(given) }

  const values = Object.entries(SETTINGS).map(([name, setting]) => {
    const text = readGiven(name, setting, merged, faults)
    const parsed = text === undefined ? { value: setting.preset } : setting.parse(text)
    if ('fault' in parsed) faults.push(`${name} ${parsed.fault}`)
    return [name, 'fault' in parsed ? undefined : parsed.value]
  })
  if (faults.length > 0) throw new ConfigError(faults)
  return Object.fromEntries(values) as Config
}

/** Before an embedded PostgreSQL is used: drivers and psql would follow variables of the shell that are meant for another. */
export function unsetPostgresVariables(): void {
  for (const name in process.env) if (name.startsWith('PG')) delete process.env[name]
}

/**
 * The values that no output may contain. A password in a URL that is shorter than a secret may be is left out: it would
 * mask ordinary words and numbers.
 */
export function secretsOf(config: Config): string[] {
  const passwords = [
    config.DATABASE_URL,
    config.REDIS_URL,
    config.SMTP_URL,
    config.OTEL_EXPORTER_OTLP_ENDPOINT,
  ]
    .flatMap((given) => (given === undefined ? [] : passwordsOf(new URL(given))))
    // A value as it stands in the setting, as it is sent, and what follows a scheme such as Bearer.
    .concat(
      headersOf(config.OTEL_EXPORTER_OTLP_HEADERS).flatMap(([, value]) => [
        encodeURIComponent(value),
        value,
        value.split(' ').at(-1) ?? '',
      ]),
    )
    .concat(config.HEARTBEAT_URL?.split('/').slice(3) ?? [])
    .filter((password) => password.length >= MIN_SECRET_CHARS)
  const secrets = [
    config.UPSTREAM_ACCESS_TOKEN,
    config.ENCRYPTION_KEY,
    config.ENCRYPTION_KEY_PREVIOUS,
    config.FAREWATCH_KEY,
    ...passwords,
  ]
  return [...new Set(secrets.filter((value) => value !== undefined))]
}

/** The names and values of `name=value,name=value`, in which values may be percent-encoded. */
export function headersOf(text = ''): (readonly [name: string, value: string])[] {
  return text.split(',').flatMap((entry) => {
    const [name = '', ...value] = entry.split('=')
    return value.length === 0 ? [] : [[name.trim(), percentDecoded(value.join('=').trim())]]
  })
}

/** The password of a URL, encoded and decoded. Drivers also accept one in the query. */
function passwordsOf({ password, searchParams }: URL): string[] {
  return [password, percentDecoded(password), ...searchParams.getAll('password')]
}

/** How often the file of a secret is read again. */
const REREAD_MS = 2_000

interface SecretFollower {
  readonly name: SettingName
  /** The value that the configuration has. */
  readonly value: string | undefined
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly onChange: (value: string) => Promise<void>
}

/**
 * Reads the file of a secret again and again, and reports each new value, until the signal aborts. A value counts when
 * two readings agree, and a file that is missing or not valid changes nothing: it may be half written. Never rejects.
 */
export async function followSecretFile(
  { name, value, clock, signal, onChange }: SecretFollower,
  env: Environment = process.env,
  folder = process.cwd(),
): Promise<void> {
  const file = { ...readDotenv(path.join(folder, '.env'), []), ...definedOnly(env) }[`${name}_FILE`]
  if (file === undefined) return
  let current = value
  let last = value
  while (!signal.aborted) {
    await clock.sleep(REREAD_MS, signal).catch(() => undefined)
    const read = await readFile(file, 'utf8').catch(() => '')
    const text = read.trim()
    if (text === last && text !== current && 'value' in SETTINGS[name].parse(text)) {
      current = text
      await onChange(text)
    }
    last = text
  }
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

const SERVICE_NAME =
  /_SERVICE_(?:HOST|PORT(?:_[A-Z0-9_]+)?)$|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/
const SERVICE_PORT = /_PORT$/
const SERVICE_URL = /^(?:tcp|udp|sctp):\/\//

/**
 * Leaves out the variables that Kubernetes sets in each container for the services of its namespace: a service named
 * `farewatch` makes `FAREWATCH_SERVICE_HOST` and `FAREWATCH_PORT`, one named `api` makes `API_PORT=tcp://10.0.0.1:80`.
 */
function withoutServiceLinks(env: Environment): Environment {
  const isLink = (name: string, value = '') =>
    SERVICE_NAME.test(name) || (SERVICE_PORT.test(name) && SERVICE_URL.test(value))
  return Object.fromEntries(Object.entries(env).filter(([name, value]) => !isLink(name, value)))
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

/**
 * Variables that can only be meant for farewatch, also those of earlier versions. One that is misspelt or renamed would
 * otherwise leave a setting at its default.
 */
const OURS =
  /^(UPSTREAM|ROUTE|AVAILABILITY|GUARD|SNAPSHOT|FAREWATCH|LOSS|GAIN|MIN_INTERVAL|NO_PROGRESS|WEBHOOK)_|^(MIN_RECHECK_SECONDS|WEDGED_AFTER_SECONDS|EMAIL_ALLOWED)$/
/** Variables for docker compose, which reads the same `.env`. */
const COMPOSE = /^(COMPOSE|POSTGRES|PROMETHEUS|GRAFANA)_|^FAREWATCH_(IMAGE|WORKERS|PUBLISHED_PORT)$/

function unknownNames(env: Environment, dotenv: Environment): string[] {
  const known = new Set(
    Object.entries(SETTINGS).flatMap(([name, setting]) =>
      setting.secret ? [name, `${name}_FILE`] : [name],
    ),
  )
  const unknown = [...Object.keys(env).filter((name) => OURS.test(name)), ...Object.keys(dotenv)]
    .filter((name) => !COMPOSE.test(name))
    .filter((name) => !known.has(name))
  return [...new Set(unknown)].map(
    (name) => `${name} is not a setting: docs/reference/settings.md lists them`,
  )
}
