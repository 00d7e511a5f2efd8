import { randomUUID } from 'node:crypto'
import type { ReadyConfig } from '../app/app.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import { type Config, SETTINGS } from '../config/settings.ts'
import { type Sandbox, startSandbox } from '../sandbox/sandbox-server.ts'
import { readDemoWorld } from './demo.ts'
import { acquireEmbeddedPostgres, type EmbeddedPostgres } from './postgres.ts'

/** A configuration with every address in it, and what was started to make it so. */
export interface Embedded {
  readonly config: ReadyConfig
  readonly postgres?: EmbeddedPostgres
  readonly sandbox?: Sandbox
  /** Ends what this process started; the private database last. */
  release(): Promise<void>
}

export interface EmbedOptions {
  readonly log: Logger
  readonly clock: Clock
  /** Whether the caller asks the upstream at all. */
  readonly sandbox: boolean
}

/** Lists of the sandbox move by the minute, and so does the schedule, unless it was chosen. */
const DEMO_SCHEDULE = '* * * * *'
/** Stands for an upstream that nobody will call. */
const NO_UPSTREAM = 'http://127.0.0.1:9'

/** Starts what is not configured: a private PostgreSQL, and a sandbox in the upstream's place. */
export async function embedMissing(config: Config, options: EmbedOptions): Promise<Embedded> {
  const started: (() => Promise<void>)[] = []
  const release = async () => {
    for (const stop of started.splice(0).reverse()) await stop()
  }
  try {
    const postgres =
      config.DATABASE_URL === undefined ? await startPostgres(config, options) : undefined
    if (postgres !== undefined) started.push(() => postgres.release())
    const withDatabase = { ...config, DATABASE_URL: config.DATABASE_URL ?? postgres?.url ?? '' }

    if (config.UPSTREAM_BASE_URL !== undefined) {
      const ready = { ...withDatabase, UPSTREAM_BASE_URL: config.UPSTREAM_BASE_URL }
      return { config: ready, release, ...(postgres && { postgres }) }
    }
    if (!options.sandbox) {
      const ready = { ...withDatabase, UPSTREAM_BASE_URL: NO_UPSTREAM }
      return { config: ready, release, ...(postgres && { postgres }) }
    }
    const token = randomUUID()
    const sandbox = await startDemoSandbox(config, options, token)
    started.push(() => sandbox.close())
    const ready = demoConfig(withDatabase, { url: sandbox.url, token })
    return { config: ready, sandbox, release, ...(postgres && { postgres }) }
  } catch (err) {
    await release()
    throw err
  }
}

function startPostgres(config: Config, { log }: EmbedOptions): Promise<EmbeddedPostgres> {
  return acquireEmbeddedPostgres({ home: config.FAREWATCH_HOME, log })
}

async function startDemoSandbox(
  config: Config,
  { log, clock }: EmbedOptions,
  token: string,
): Promise<Sandbox> {
  const world = await readDemoWorld(config.FAREWATCH_HOME, clock.now())
  return startSandbox({ ...world, port: 0, token, clock, log: log.child({}, { level: 'warn' }) })
}

function demoConfig(
  config: Config & { readonly DATABASE_URL: string },
  sandbox: { url: string; token: string },
): ReadyConfig {
  const schedule = (name: 'ROUTE_SYNC_SCHEDULE' | 'AVAILABILITY_SYNC_SCHEDULE') =>
    config[name] === SETTINGS[name].preset ? DEMO_SCHEDULE : config[name]
  return {
    ...config,
    UPSTREAM_BASE_URL: sandbox.url,
    UPSTREAM_ACCESS_TOKEN: sandbox.token,
    ROUTE_SYNC_SCHEDULE: schedule('ROUTE_SYNC_SCHEDULE'),
    AVAILABILITY_SYNC_SCHEDULE: schedule('AVAILABILITY_SYNC_SCHEDULE'),
  }
}
