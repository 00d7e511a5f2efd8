import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { Command, CommanderError } from 'commander'
import packageJson from '../../package.json' with { type: 'json' }
import { AppError, codeOf, messageOf, nameFullDisk } from '../platform/base/errors.ts'
import { createLogger } from '../platform/base/logger.ts'
import { createScrub } from '../platform/base/secrets.ts'
import { ConfigError, loadConfig, secretsOf } from '../platform/config/config.ts'
import {
  addMigrateCommand,
  addRestoredCommand,
  addSqlCommands,
} from './commands/database-commands.ts'
import { addDeliveriesCommands } from './commands/deliveries-commands.ts'
import { addEndpointsCommands, addTriggerCommand } from './commands/endpoints-commands.ts'
import { addChangesCommand, addFaresCommands } from './commands/fares-commands.ts'
import {
  addDoctorCommand,
  addSchedulesCommands,
  addStatusCommand,
} from './commands/health-commands.ts'
import {
  addAnalystsCommands,
  addArchiveCommand,
  addExportCommand,
  addHistoryCommands,
  addRollupCommand,
} from './commands/history-commands.ts'
import { addIncidentsCommands } from './commands/incidents-commands.ts'
import { addJobsCommands } from './commands/jobs-commands.ts'
import { addKeysCommands } from './commands/keys-commands.ts'
import { addAuditCommand, addPauseCommands } from './commands/pause-commands.ts'
import { addReceiveCommand } from './commands/receive-command.ts'
import { addResellersCommands } from './commands/resellers-commands.ts'
import { addDemoCommand, addSandboxCommand } from './commands/sandbox-commands.ts'
import {
  addConfigCommand,
  addOpenApiCommand,
  addServiceCommands,
} from './commands/service-commands.ts'
import { addRoutesCommands, addSyncCommands } from './commands/sync-commands.ts'
import {
  addAnswersCommands,
  addBudgetCommand,
  addUpstreamCommands,
} from './commands/upstream-commands.ts'
import { addWatchListCommands } from './commands/watch-list-commands.ts'
import { processFields } from './context.ts'
import { EXIT, exitOfError, InterruptedError } from './exit-codes.ts'
import { escapeControls } from './text/text-format.ts'

/** The groups of `--help`, in its order; docs/reference/cli.md has a section for each. */
const GROUPS: readonly (readonly [string, readonly ((program: Command) => void)[]])[] = [
  ['Services:', [addServiceCommands, addMigrateCommand, addRestoredCommand, addConfigCommand]],
  [
    'Health:',
    [
      addStatusCommand,
      addDoctorCommand,
      addIncidentsCommands,
      addSchedulesCommands,
      addJobsCommands,
      addPauseCommands,
      addAuditCommand,
    ],
  ],
  ['Routes:', [addSyncCommands, addRoutesCommands]],
  [
    'Fares:',
    [
      addChangesCommand,
      addFaresCommands,
      addBudgetCommand,
      addUpstreamCommands,
      addAnswersCommands,
    ],
  ],
  [
    'Resellers:',
    [
      addResellersCommands,
      addKeysCommands,
      addWatchListCommands,
      addEndpointsCommands,
      addDeliveriesCommands,
      addTriggerCommand,
      addReceiveCommand,
    ],
  ],
  [
    'Data:',
    [
      addSqlCommands,
      addExportCommand,
      addRollupCommand,
      addHistoryCommands,
      addArchiveCommand,
      addAnalystsCommands,
      addOpenApiCommand,
    ],
  ],
  ['Sandbox:', [addSandboxCommand, addDemoCommand]],
]

/** The whole command line, as the tests and the reference page read it too. */
export function createProgram(): Command {
  const program = new Command('bin/farewatch')
    .description('Watches flight routes and fares for resellers: history, changes and metrics.')
    .option('-V, --version', 'print the version and the commit')
    .on('option:version', () => {
      process.stdout.write(`${versionText()}\n`)
      throw new CommanderError(EXIT.ok, 'commander.version', '')
    })
    .helpOption('-h, --help', 'print this help')
    .showHelpAfterError('(--help lists the options)')
    .exitOverride()
    .configureOutput({ writeErr: writeError })
  for (const [heading, adders] of GROUPS) {
    program.commandsGroup(heading)
    for (const add of adders) add(program)
  }
  for (const command of program.commands) command.helpCommand(false)
  return program.commandsGroup('Help:').helpCommand('help [command]', 'Print the help of a command')
}

const ROOT = path.join(import.meta.dirname, '../..')

/** The build of an image writes the file; a checkout has its history. */
function versionText(): string {
  const built = path.join(ROOT, 'commit')
  const commit = existsSync(built)
    ? readFileSync(built, 'utf8').trim()
    : spawnSync('git', ['-C', ROOT, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).stdout?.trim()
  return commit ? `${packageJson.version} (${commit.slice(0, 12)})` : packageJson.version
}

/** Runs one command line and returns its exit code. Expected failures print a message, bugs a stack. */
export async function runCommandLine(argv: readonly string[]): Promise<number> {
  try {
    await createProgram().parseAsync(argv)
    return typeof process.exitCode === 'number' ? process.exitCode : EXIT.ok
  } catch (err) {
    if (err instanceof InterruptedError) return err.exit
    if (err instanceof CommanderError) return err.exitCode === 0 ? EXIT.ok : EXIT.usage
    reportFailure(err, argv)
    return err instanceof AppError ? exitOfError(err) : EXIT.failed
  }
}

const SERVICE_NAMES = new Set(['up', 'worker', 'api'])

/** In the log of a service, where each line is JSON, the failure is one too. */
function reportFailure(err: unknown, argv: readonly string[]): void {
  const named = nameFullDisk(messageOf(err))
  const isExpected = err instanceof AppError || named !== messageOf(err)
  const [role = '', more] = argv.slice(2)
  if (SERVICE_NAMES.has(role) && more === undefined && process.stderr.isTTY !== true) {
    const destination = process.stderr
    const base = processFields(role)
    const log = createLogger({ level: 'fatal', scrub: scrubbed, destination, base })
    log.fatal(isExpected ? { code: codeOf(err) } : { err }, isExpected ? named : 'internal error')
  } else if (isExpected) writeError(`farewatch: ${named}\n`)
  else writeError(`farewatch: internal error: ${err instanceof Error ? err.stack : err}\n`)
}

/** The logs of a container are read on a terminal too, so the text is escaped in any case. */
function writeError(text: string): void {
  process.stderr.write(escapeControls(scrubbed(text)))
}

/** The message of a store or of the upstream may quote a secret. */
function scrubbed(text: string): string {
  try {
    return createScrub(secretsOf(loadConfig()))(text)
  } catch (err) {
    if (err instanceof ConfigError) return text
    throw err
  }
}
