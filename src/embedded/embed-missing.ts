import { randomBytes, randomUUID } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { type Sandbox, startSandbox } from '../../sandbox/sandbox-server.ts'
import type { ReadyConfig } from '../app/app.ts'
import type { Clock } from '../platform/base/clock.ts'
import type { Logger } from '../platform/base/logger.ts'
import { RECEIVER_NETWORK } from '../platform/base/loopback.ts'
import { unsetPostgresVariables } from '../platform/config/config.ts'
import type { Config } from '../platform/config/settings.ts'
import { openDemoWorld } from './demo.ts'
import { demoSettingsOf } from './demo-settings.ts'
import { acquireEmbeddedPostgres, type EmbeddedPostgres } from './postgres.ts'
import { createOnce, EmbeddedPostgresError, undefinedIfMissing } from './postgres-errors.ts'
import { type RunningSandbox, recordRunning, requireSandbox } from './running-services.ts'

/** A configuration with every address, and the parts that were started for it. */
export interface Embedded {
  readonly config: ReadyConfig
  readonly postgres?: EmbeddedPostgres
  readonly sandbox?: Sandbox
  /** Lets the commands of the home find the API of this process until the release. Without embedded parts it does nothing. */
  recordApi(port: number): Promise<void>
  /** Stops what this process started, the embedded database last. */
  release(): Promise<void>
}

interface EmbedOptions {
  readonly log: Logger
  readonly clock: Clock
  /**
   * What replaces an upstream that is not configured. A service starts a sandbox. A command that calls the upstream
   * joins the sandbox of the running service: with one of its own it would apply lists of another world.
   */
  readonly sandbox: 'start' | 'join' | 'none'
}

/** The upstream of a command that does not call it. */
const NO_UPSTREAM = 'http://127.0.0.1:9'

/**
 * Starts what is not configured: an embedded PostgreSQL, and a sandbox instead of the upstream. Throws
 * NoSandboxRunsError if a command needs a sandbox and none runs.
 */
export async function embedMissing(given: Config, options: EmbedOptions): Promise<Embedded> {
  const config = withReceiver(given)
  const started: (() => Promise<void>)[] = []
  const release = async () => {
    const stops = started.splice(0).reverse()
    const failures: unknown[] = []
    for (const stop of stops) await stop().catch((err: unknown) => failures.push(err))
    if (failures.length > 0) throw failures[0]
  }
  const onRelease = (stop: () => Promise<void>) => void started.push(stop)
  const needsSandbox = config.UPSTREAM_BASE_URL === undefined && options.sandbox !== 'none'
  const joined =
    needsSandbox && options.sandbox === 'join'
      ? await requireSandbox(config.FAREWATCH_HOME)
      : undefined
  try {
    const postgres = await embedPostgres(config, options, onRelease)
    const withKeys =
      postgres === undefined ? config : await keysOfHome(config.FAREWATCH_HOME, config)
    const withDatabase = { ...withKeys, DATABASE_URL: config.DATABASE_URL ?? postgres?.url ?? '' }
    const recordApi = async (API_PORT: number) => {
      if (started.length === 0) return
      const { API_HOST, PUBLIC_URL, FAREWATCH_HOME: home } = config
      onRelease(await recordRunning(home, 'api', { API_HOST, API_PORT, PUBLIC_URL }))
    }
    const parts = { recordApi, release, ...(postgres && { postgres }) }
    if (joined !== undefined) return { config: demoConfig(withDatabase, joined), ...parts }
    if (!needsSandbox) {
      const UPSTREAM_BASE_URL = config.UPSTREAM_BASE_URL ?? NO_UPSTREAM
      return { config: { ...withDatabase, UPSTREAM_BASE_URL }, ...parts }
    }
    const token = randomUUID()
    const world = await openDemoWorld(config.FAREWATCH_HOME, options.clock)
    onRelease(() => world.stop())
    const log = options.log.child({}, { level: 'warn' })
    const sandbox = await startSandbox({ ...world, port: 0, token, clock: options.clock, log })
    onRelease(() => sandbox.close())
    const running = { url: sandbox.url, token }
    onRelease(await recordRunning(config.FAREWATCH_HOME, 'sandbox', running))
    return { config: demoConfig(withDatabase, running), sandbox, ...parts }
  } catch (err) {
    await release()
    throw err
  }
}

/**
 * Without a database and an upstream of the user's, farewatch is tried on this machine: endpoints may have the address
 * of `bin/farewatch receive`.
 */
function withReceiver(config: Config): Config {
  const { DATABASE_URL, UPSTREAM_BASE_URL, WEBHOOK_ALLOWED_NETWORKS: allowed } = config
  if (DATABASE_URL !== undefined || UPSTREAM_BASE_URL !== undefined) return config
  return { ...config, WEBHOOK_ALLOWED_NETWORKS: `${allowed},${RECEIVER_NETWORK}` }
}

const NEW_DATABASE =
  'this command uses a new, empty database: no farewatch has run with this FAREWATCH_HOME'

/** Undefined if a database is configured. */
async function embedPostgres(
  { DATABASE_URL, FAREWATCH_HOME: home }: Config,
  { log, sandbox }: EmbedOptions,
  onRelease: (stop: () => Promise<void>) => void,
): Promise<EmbeddedPostgres | undefined> {
  if (DATABASE_URL !== undefined) return undefined
  unsetPostgresVariables()
  const isCommand = sandbox !== 'start'
  const postgres = await acquireEmbeddedPostgres({ home, log, join: isCommand })
  onRelease(() => postgres.release())
  // Otherwise an empty database seems like lost data.
  if (isCommand && postgres.madeData) log.warn({ home: path.resolve(home) }, NEW_DATABASE)
  return postgres
}

function demoConfig(
  config: Config & { readonly DATABASE_URL: string },
  { url, token }: RunningSandbox,
): ReadyConfig {
  return {
    ...config,
    ...demoSettingsOf(config),
    UPSTREAM_BASE_URL: url,
    UPSTREAM_ACCESS_TOKEN: token,
  }
}

const KEY_BYTES = 24

type EncryptionKeys = Pick<Config, 'ENCRYPTION_KEY' | 'ENCRYPTION_KEY_PREVIOUS'>

/**
 * The keys for the secrets in an embedded database. Without a key of the user's, the home has one in a file: a user
 * who can read the home can read the database too. A key that the user sets later replaces it, and the one of the
 * file still opens what it has sealed.
 */
export async function keysOfHome<Keys extends EncryptionKeys>(
  home: string,
  given: Keys,
): Promise<Keys> {
  const file = path.join(home, 'encryption-key')
  const { ENCRYPTION_KEY: key, ENCRYPTION_KEY_PREVIOUS: previous } = given
  if (key === undefined) return { ...given, ENCRYPTION_KEY: await readOrCreate(file) }
  return { ...given, ENCRYPTION_KEY_PREVIOUS: previous ?? (await read(file)) }
}

async function readOrCreate(file: string): Promise<string> {
  const found = await read(file)
  if (found !== undefined) return found
  await mkdir(path.dirname(file), { recursive: true })
  await createOnce(file, `${randomBytes(KEY_BYTES).toString('hex')}\n`)
  return readOrCreate(file)
}

async function read(file: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(undefinedIfMissing)
  const key = text?.trim()
  if (key === undefined || key.length === 2 * KEY_BYTES) return key
  throw new EmbeddedPostgresError(
    'storage',
    `${file} is damaged: restore it, or remove it and create the endpoints of resellers again`,
  )
}
