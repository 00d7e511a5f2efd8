import { setTimeout as delay } from 'node:timers/promises'
import { type App, assertReady, migrateApp, openApp, openQueue } from '../app/app.ts'
import { systemClock } from '../base/clock.ts'
import { createLogger, type Logger } from '../base/logger.ts'
import { createScrub, type Scrub } from '../base/secrets.ts'
import { type Config, loadConfig, secretsOf } from '../config/config.ts'
import { embedMissing } from '../embedded/embed-missing.ts'
import type { QueueSystem } from '../queue/queue-system.ts'
import { interruptSignal, untilInterrupted } from './interrupt.ts'
import { createTerminal, type Terminal } from './terminal.ts'
import { createLogLines } from './text/log-lines.ts'

/** What every command has at hand. */
export interface CliContext {
  readonly config: Config
  readonly scrub: Scrub
  readonly log: Logger
  readonly terminal: Terminal
}

/**
 * Reads the configuration and sets up output: standard output is the command's answer, standard error is the
 * way there: lines for a person on a terminal, JSON elsewhere.
 */
export function createContext({ quiet = false }: { quiet?: boolean } = {}): CliContext {
  const config = loadConfig()
  const scrub = createScrub(secretsOf(config))
  const terminal = createTerminal({
    stdout: process.stdout,
    stderr: process.stderr,
    // Progress is what a long command has to say, also one that is otherwise quiet.
    logProgress: (progress) => {
      const log = createLogger({ level: config.LOG_LEVEL, scrub, destination: process.stderr })
      log.info({ progress }, 'under way')
    },
  })
  const destination = terminal.interactive
    ? createLogLines((line) => {
        terminal.progress('')
        process.stderr.write(line)
      })
    : process.stderr
  const level = quiet && config.LOG_LEVEL === 'info' ? 'warn' : config.LOG_LEVEL
  return { config, scrub, log: createLogger({ level, scrub, destination }), terminal }
}

/** A service logs its outcomes to standard output where nobody watches. */
export function createServiceContext(): CliContext {
  const context = createContext()
  if (context.terminal.interactive) return context
  const { config, scrub } = context
  const log = createLogger({ level: config.LOG_LEVEL, scrub, destination: process.stdout })
  return { ...context, log }
}

/** What one-shot commands give a store to let go of their connections, once they are interrupted. */
const CLOSE_DEADLINE_MS = 2_000

/**
 * Opens what a one-shot command needs, runs it and closes everything again, also when it is interrupted. A private
 * database is brought up to date on the way; one of the user's must be migrated already.
 */
export async function withApp<T>(
  context: CliContext,
  needs: { readonly role: string; readonly sandbox: boolean },
  work: (app: App) => Promise<T>,
): Promise<T> {
  const { config, log } = context
  const signal = interruptSignal()
  const embedded = await embedMissing(config, { log, clock: systemClock, sandbox: needs.sandbox })
  try {
    const app = openApp({ config: embedded.config, log, clock: systemClock, role: needs.role })
    try {
      if (embedded.postgres === undefined) await assertReady(app)
      else await migrateApp(app)
      return await untilInterrupted(work(app), signal)
    } finally {
      // A statement that still runs holds its connection: it ends with ours.
      await Promise.race([app.close(), ...(signal.aborted ? [delay(CLOSE_DEADLINE_MS)] : [])])
    }
  } finally {
    await embedded.release()
  }
}

const CLOSE_MS = 2_000

/** Opens what a one-shot command about the queue needs, runs it and closes everything again. */
export function withQueue<T>(
  context: CliContext,
  role: string,
  work: (app: App, queue: QueueSystem) => Promise<T>,
): Promise<T> {
  return withApp(context, { role, sandbox: false }, async (app) => {
    const queue = openQueue(app)
    try {
      return await work(app, queue)
    } finally {
      await queue.close({ graceMs: CLOSE_MS })
    }
  })
}
