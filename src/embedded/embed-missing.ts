import { randomUUID } from 'node:crypto'
import type { ReadyConfig } from '../app/app.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import { type Config, SETTINGS } from '../config/settings.ts'
import { type Sandbox, startSandbox } from '../sandbox/sandbox-server.ts'
import { readDemoWorld } from './demo.ts'
import { acquireEmbeddedPostgres, type EmbeddedPostgres } from './postgres.ts'

/** A configuration with every address, and the parts that were started for it. */
export interface Embedded {
  readonly config: ReadyConfig
  readonly postgres?: EmbeddedPostgres
  readonly sandbox?: Sandbox
  /** Stops what this process started, the embedded database last. */
  release(): Promise<void>
}

interface EmbedOptions {
  readonly log: Logger
  readonly clock: Clock
  /** Whether the caller calls the upstream. */
  readonly sandbox: boolean
}

/** The lists of the sandbox change every minute. A schedule that was set is kept. */
const DEMO_SCHEDULE = '* * * * *'
/** The upstream of a command that does not call it. */
const NO_UPSTREAM = 'http://127.0.0.1:9'

/** Starts what is not configured: an embedded PostgreSQL, and a sandbox instead of the upstream. */
export async function embedMissing(config: Config, options: EmbedOptions): Promise<Embedded> {
  const { log } = options
  const started: (() => Promise<void>)[] = []
  const release = async () => {
    for (const stop of started.splice(0).reverse()) await stop()
  }
  try {
    const postgres =
      config.DATABASE_URL === undefined
        ? await acquireEmbeddedPostgres({ home: config.FAREWATCH_HOME, log })
        : undefined
    if (postgres !== undefined) started.push(() => postgres.release())
    const withDatabase = { ...config, DATABASE_URL: config.DATABASE_URL ?? postgres?.url ?? '' }
    const parts = { release, ...(postgres && { postgres }) }
    if (config.UPSTREAM_BASE_URL !== undefined || !options.sandbox) {
      const UPSTREAM_BASE_URL = config.UPSTREAM_BASE_URL ?? NO_UPSTREAM
      return { config: { ...withDatabase, UPSTREAM_BASE_URL }, ...parts }
    }
    const token = randomUUID()
    const sandbox = await startDemoSandbox(config, options, token)
    started.push(() => sandbox.close())
    return { config: demoConfig(withDatabase, sandbox.url, token), sandbox, ...parts }
  } catch (err) {
    await release()
    throw err
  }
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
  url: string,
  token: string,
): ReadyConfig {
  const schedule = (name: 'ROUTE_SYNC_SCHEDULE' | 'AVAILABILITY_SYNC_SCHEDULE') =>
    config[name] === SETTINGS[name].preset ? DEMO_SCHEDULE : config[name]
  return {
    ...config,
    UPSTREAM_BASE_URL: url,
    UPSTREAM_ACCESS_TOKEN: token,
    ROUTE_SYNC_SCHEDULE: schedule('ROUTE_SYNC_SCHEDULE'),
    AVAILABILITY_SYNC_SCHEDULE: schedule('AVAILABILITY_SYNC_SCHEDULE'),
  }
}
