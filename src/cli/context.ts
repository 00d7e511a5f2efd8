import { setTimeout as delay } from 'node:timers/promises'
import { type App, assertReady, migrateApp, openApp, openQueue } from '../app/app.ts'
import { warnOfTokenInClear } from '../app/settings-for.ts'
import { type Embedded, embedMissing } from '../embedded/embed-missing.ts'
import { withRunningApi } from '../embedded/running-services.ts'
import { systemClock } from '../platform/base/clock.ts'
import { createLogger, type Logger } from '../platform/base/logger.ts'
import { createScrub, type Scrub } from '../platform/base/secrets.ts'
import { loadConfig, secretsOf } from '../platform/config/config.ts'
import type { Config } from '../platform/config/settings.ts'
import type { QueueSystem } from '../platform/queue/queue-system.ts'
import type { ProgramOptions } from './describe.ts'
import { interruptSignal, untilInterrupted } from './exit-codes.ts'
import { createTerminal, type Terminal } from './terminal.ts'
import { createLogLines } from './text/log-lines.ts'
import { hasColours } from './text/text-format.ts'
import { processFields } from './version.ts'

export interface CliContext {
  readonly config: Config
  readonly scrub: Scrub
  readonly log: Logger
  readonly terminal: Terminal
  /** Aborts when the command is to stop. */
  readonly signal: AbortSignal
}

/**
 * Reads the configuration and sets up output. Results go to standard output. Logs go to standard error: plain lines on
 * a terminal, JSON elsewhere. A quiet command logs from `warn` on, unless LOG_LEVEL was set.
 */
export function createContext({
  quiet = false,
  options,
}: {
  quiet?: boolean
  options?: ProgramOptions | undefined
} = {}): CliContext {
  const config = loadConfig()
  const scrub = createScrub(secretsOf(config))
  // A quiet command logs its progress too.
  const logProgress = (progress: string) => {
    const log = createLogger({ level: config.LOG_LEVEL, scrub, destination: process.stderr })
    log.info({ progress }, 'in progress')
  }
  const { stdout, stderr } = process
  const terminal = createTerminal({ stdout, stderr, logProgress }, options)
  const destination = terminal.interactive
    ? createLogLines(
        (line) => {
          terminal.progress('')
          process.stderr.write(line)
        },
        { debug: config.LOG_LEVEL !== 'info', coloured: hasColours(stderr) },
      )
    : process.stderr
  const level = config.LOG_LEVEL === 'info' ? infoLevel(quiet, terminal) : config.LOG_LEVEL
  const log = createLogger({ level, scrub, destination })
  return { config, scrub, log, terminal, signal: interruptSignal() }
}

/** The level of the log where LOG_LEVEL is `info`. A terminal shows the changes of fares, whose lines are `debug`. */
function infoLevel(quiet: boolean, { interactive }: Terminal): string {
  if (quiet) return 'warn'
  return interactive ? 'debug' : 'info'
}

/**
 * The context of a service: without a terminal it logs to standard output, and each line says which process wrote
 * it.
 */
export function createServiceContext(role: string): CliContext {
  const context = createContext()
  if (context.terminal.interactive) return context
  const { config, scrub } = context
  const log = createLogger({
    level: config.LOG_LEVEL,
    scrub,
    destination: process.stdout,
    base: processFields(role),
  })
  return { ...context, log }
}

/** The time that a store has to close its connections. */
const CLOSE_MS = 2_000

interface CommandNeeds {
  /** Shown in pg_stat_activity. */
  readonly role: string
  readonly options?: ProgramOptions
  /** Whether the command calls the upstream. */
  readonly sandbox?: boolean
  /** Whether to log warnings and errors only. If unset, true. */
  readonly quiet?: boolean
  /** Whether the work ends by itself after an interrupt, because it has something to undo. */
  readonly endsItself?: boolean
}

type Work = (app: App, context: CliContext, embedded: Embedded) => Promise<unknown>

/**
 * Opens the stores of a one-shot command, runs it and closes them again, also after an interrupt. An embedded
 * database is migrated first; a database of the user's must be migrated already. A number that `work` returns is
 * the exit code.
 */
export function withApp(needs: CommandNeeds, work: Work): Promise<void> {
  return withStores(needs, async (app, context, embedded) => {
    if (embedded.postgres === undefined) await assertReady(app)
    else await migrateApp(app)
    return work(app, context, embedded)
  })
}

/** As withApp, for a database that need not be migrated. */
export async function withStores(
  { role, options, sandbox = false, quiet = true, endsItself = false }: CommandNeeds,
  work: Work,
): Promise<void> {
  const context = createContext({ quiet, options })
  const { config, log, signal } = context
  const embedded = await embedMissing(await withRunningApi(config), {
    log,
    clock: systemClock,
    sandbox: sandbox ? 'join' : 'none',
  })
  try {
    const app = openApp({ config: embedded.config, log, clock: systemClock, role })
    if (sandbox) warnOfTokenInClear(app)
    let isDone = false
    try {
      const working = work(app, context, embedded)
      const exit = await (endsItself ? working : untilInterrupted(working, signal))
      if (typeof exit === 'number') process.exitCode = exit
      isDone = true
    } finally {
      // After an interrupt or a failure a statement may still hold its connection; it ends with this process.
      await Promise.race([app.close(), ...(isDone ? [] : [delay(CLOSE_MS)])])
    }
  } finally {
    await embedded.release()
  }
}

/** As withApp, with the queue. */
export function withQueue(
  needs: CommandNeeds,
  work: (app: App, queue: QueueSystem, context: CliContext) => Promise<unknown>,
): Promise<void> {
  return withApp(needs, async (app, context) => {
    const queue = openQueue(app)
    try {
      return await work(app, queue, context)
    } finally {
      await queue.close({ graceMs: CLOSE_MS })
    }
  })
}
