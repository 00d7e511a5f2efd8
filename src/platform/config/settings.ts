import {
  address,
  choice,
  cron,
  decimal,
  integer,
  list,
  mailbox,
  networks,
  orEmpty,
  type Setting,
  secret,
  text,
  url,
  zone,
} from './setting-types.ts'

const UPSTREAM = {
  UPSTREAM_BASE_URL: url('URL of the fare interface; if unset, the sandbox is used', {
    protocols: ['http:', 'https:'],
    example: 'https://fares.example',
  }),
  UPSTREAM_ACCESS_TOKEN: secret('credential for the fare interface', {
    example: '9f8e7d6c5b4a',
  }),
  UPSTREAM_REQUESTS_PER_SECOND: decimal(
    'budget: upstream requests a second of all processes together',
    { min: 0.01, max: 10_000, preset: 5 },
  ),
}

const LISTS = {
  ROUTE_SYNC_SCHEDULE: cron('when the routes list is fetched (cron)', '0 */2 * * *'),
  AVAILABILITY_SYNC_SCHEDULE: cron(
    'when the with-availability list is fetched (cron)',
    '15 */2 * * *',
  ),
  SYNC_TIME_ZONE: zone('the time zone of both patterns', 'UTC'),
  SNAPSHOT_RETENTION_DAYS: integer(
    'days for which the fetched lists are kept; after a week, one a day of each kind',
    { min: 1, max: 3650, preset: 30 },
  ),
}

const CAUTION = {
  MIN_INTERVAL_SECONDS: integer('minimum interval between two checks of a fare', {
    min: 1,
    max: 86_400,
    preset: 60,
  }),
  LOSS_CONFIRMATIONS: integer('number of checks in a row that must report a loss', {
    min: 1,
    max: 10,
    preset: 2,
  }),
  GAIN_CONFIRMATIONS: integer('number of checks in a row that must report a gain', {
    min: 1,
    max: 10,
    preset: 2,
  }),
  MASS_HOLD_MINUTES: integer(
    'minutes for which the changes of a mass wait; one more check that shows the same then records each',
    { min: 1, max: 1_440, preset: 10 },
  ),
  ROUTE_ABSENCE_CONFIRMATIONS: integer(
    'number of accepted lists in a row that must lack a route before it is removed',
    { min: 1, max: 100, preset: 2 },
  ),
  GUARD_ABSENT_PERCENT: decimal(
    'highest share of the live routes that lists may newly lack in a day; usual losses lower it',
    { min: 0.01, max: 100, preset: 15 },
  ),
}

const API = {
  API_HOST: address('address on which the API listens; 0.0.0.0 means all addresses', '127.0.0.1'),
  API_PORT: integer('port of the API', { min: 0, max: 65_535, preset: 8080 }),
  PUBLIC_URL: url('address under which people open the page; messages lead to it', {
    protocols: ['http:', 'https:'],
    example: 'https://fares.example',
  }),
  API_REQUESTS_PER_SECOND: decimal(
    'API requests a second for each key, and for each address without a key',
    { min: 0.1, max: 1_000_000, preset: 50 },
  ),
  ADMIN_HOST: address('address on which health and metrics listen', '127.0.0.1'),
  ADMIN_PORT: integer('port of health and metrics', { min: 0, max: 65_535, preset: 9091 }),
}

function chatHosts(format: string, preset: string) {
  return list(`hosts of the format ${format}, or ".endings" of them`, {
    preset,
    entry: { accepts: 'hosts', of: /^[a-z0-9.-]+(?::\d{1,5})?$/i },
  })
}

const DELIVERIES = {
  ENCRYPTION_KEY: secret(
    'key that encrypts the URLs and secrets of webhook endpoints in the database',
    {
      minChars: 32,
      example: 'dGhpcyBpcyBhbiBleGFtcGxlLCBtYWtlIHlvdXIgb3du',
      madeBy: 'openssl rand -base64 32',
    },
  ),
  // A key from before the limit of 32 characters can be replaced.
  ENCRYPTION_KEY_PREVIOUS: orEmpty(
    secret('the former ENCRYPTION_KEY, until "bin/farewatch endpoints reseal" has replaced it', {
      example: 'the-former-key',
    }),
  ),
  WEBHOOK_ALLOWED_NETWORKS: networks(
    'networks that webhooks may reach although their addresses are not public; with a port, as in 127.0.0.1/32:8093, that port alone',
  ),
  WEBHOOK_ALLOW_HTTP: choice('whether webhooks may go to http URLs', ['off', 'on'], 'off'),
  SLACK_HOSTS: chatHosts('slack', 'hooks.slack.com'),
  TEAMS_HOSTS: chatHosts('teams', '.logic.azure.com,.api.powerplatform.com,.webhook.office.com'),
  DISCORD_HOSTS: chatHosts('discord', 'discord.com,discordapp.com'),
  TELEGRAM_HOSTS: chatHosts('telegram', 'api.telegram.org'),
  NTFY_HOSTS: chatHosts('ntfy', 'ntfy.sh'),
  SMTP_URL: orEmpty(
    url('URL of the server that sends e-mail; if unset, no e-mail is sent', {
      protocols: ['smtp:', 'smtps:'],
      secret: true,
      example: 'smtps://user:password@mail.example',
    }),
  ),
  EMAIL_FROM: mailbox('sender of e-mail', 'Fares <fares@agency.example>'),
  EMAIL_MESSAGES_PER_HOUR: integer(
    'e-mail messages an hour to one address, of all resellers; what is above it joins a later message',
    { min: 1, max: 1000, preset: 20 },
  ),
}

const STORES = {
  DATABASE_URL: url('URL of PostgreSQL 18; if unset, an embedded one in FAREWATCH_HOME is used', {
    protocols: ['postgres:', 'postgresql:'],
    secret: true,
    example: 'postgres://farewatch:password@db.example/farewatch',
  }),
  REDIS_URL: url('URL of Redis for the queue; if unset, the queue is in PostgreSQL', {
    protocols: ['redis:', 'rediss:'],
    secret: true,
    example: 'redis://:password@redis.example',
  }),
  FAREWATCH_HOME: text('folder for the data of embedded services', '.farewatch'),
  DEMO_FAULTS: choice(
    'whether the embedded sandbox breaks by itself now and then, to show what follows',
    ['on', 'off'],
    'on',
  ),
  DEMO_HISTORY_DAYS: integer(
    'days of history that the first start with the embedded sandbox makes up; 0: none',
    { min: 0, max: 30, preset: 30 },
  ),
  FAREWATCH_URL: url('where commands find the API; if unset, the one that runs on this machine', {
    protocols: ['http:', 'https:'],
    example: 'http://api.example:8080',
  }),
  FAREWATCH_KEY: orEmpty(
    secret('key of an operator for commands; if unset, the one in FAREWATCH_HOME', {
      example: 'fwk_lSecFIKl9e8d7c6b5a',
    }),
  ),
  ANALYST_STATEMENT_SECONDS: integer(
    'the worker cancels a statement of a login of an analyst that has run for this time',
    { min: 1, max: 86_400, preset: 30 },
  ),
}

const LOGS = {
  LOG_LEVEL: choice(
    'lowest level of log lines',
    ['trace', 'debug', 'info', 'warn', 'error', 'fatal'],
    'info',
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: orEmpty(
    url(
      'where services send their spans, by OTLP over HTTP with protobuf; if unset, nowhere. Other OTEL_ variables of the exporter and the resource are read from the environment',
      { protocols: ['http:', 'https:'], secret: true, example: 'https://collector.example' },
    ),
  ),
  OTEL_EXPORTER_OTLP_HEADERS: orEmpty(
    secret('headers of these requests: name=value, with commas', {
      example: 'authorization=Bearer%20token',
    }),
  ),
  OTEL_TRACES_SAMPLER: choice(
    'which traces are sent',
    [
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ],
    'parentbased_always_on',
  ),
  OTEL_TRACES_SAMPLER_ARG: decimal('share of the traces that a traceidratio sends', {
    min: 0,
    max: 1,
    preset: 1,
  }),
  HEARTBEAT_URL: orEmpty(
    url(
      'URL that a worker requests each minute while all parts of the work make progress, with what is wrong: its service notifies when it is silent',
      {
        protocols: ['http:', 'https:'],
        secret: true,
        example: 'https://hc-ping.com/a1b2c3d4-0000-0000-0000-000000000000',
      },
    ),
  ),
  NO_PROGRESS_SECONDS: integer(
    'a worker ends itself if it makes no progress for this time although its stores answer',
    { min: 10, max: 3600, preset: 180 },
  ),
}

/** The settings in the groups in which they are printed. */
export const SETTING_GROUPS: Readonly<Record<string, Readonly<Record<string, Setting<unknown>>>>> =
  {
    Upstream: UPSTREAM,
    'Route lists': LISTS,
    'Fares, and how cautious': CAUTION,
    API,
    'Deliveries and mail': DELIVERIES,
    Stores: STORES,
    'Logs and processes': LOGS,
  }

/**
 * Every setting, by its name in the environment and in `.env`. A secret can also be given as `NAME_FILE`, the path of a
 * file that contains it.
 */
export const SETTINGS = {
  ...UPSTREAM,
  ...LISTS,
  ...CAUTION,
  ...API,
  ...DELIVERIES,
  ...STORES,
  ...LOGS,
}

export type SettingName = keyof typeof SETTINGS
export type Config = {
  readonly [Name in SettingName]: (typeof SETTINGS)[Name] extends Setting<infer T> ? T : never
}

export interface ConfigLine {
  readonly group: string
  readonly name: string
  /** Redacted; null if unset. */
  readonly value: string | number | null
  readonly default: boolean
  readonly example: string
}

/** The configuration for display: secrets as `[set]`, URLs without their password. */
export function redactedConfig(config: Config): ConfigLine[] {
  return Object.entries(SETTING_GROUPS).flatMap(([group, settings]) =>
    Object.entries(settings).map(([name, setting]) => {
      const value = config[name as keyof Config]
      return {
        group,
        name,
        value: value === undefined ? null : setting.secret ? redacted(setting, value) : value,
        default: value === setting.preset,
        example: setting.example,
      }
    }),
  )
}

function redacted(setting: Setting<unknown>, value: string | number): string {
  return setting.shown?.(String(value)) ?? '[set]'
}
