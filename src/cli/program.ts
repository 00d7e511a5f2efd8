import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { Command, CommanderError } from 'commander'
import packageJson from '../../package.json' with { type: 'json' }
import { AppError, codeOf, messageOf, nameFullDisk } from '../platform/base/errors.ts'
import { createLogger } from '../platform/base/logger.ts'
import { createScrub } from '../platform/base/secrets.ts'
import { ConfigError, loadConfig, secretsOf } from '../platform/config/config.ts'
import { EXIT, exitOfError, InterruptedError } from './exit-codes.ts'
import { escapeControls } from './text/text-format.ts'

type Add = (program: Command) => void

interface CommandModule {
  /** The first words of its commands. */
  readonly words: readonly string[]
  readonly load: () => Promise<readonly Add[]>
}

const from = <M>(words: string, load: () => Promise<M>, adds: (module: M) => Add[]) =>
  ({ words: words.split(' '), load: async () => adds(await load()) }) satisfies CommandModule

/**
 * The groups of `--help`, in its order; docs/reference/cli.md has a section for each. A command line imports the module
 * of its first word: all of them together cost three times the processor time of one.
 */
export const GROUPS: Readonly<Record<string, readonly CommandModule[]>> = {
  'Services:': [
    from(
      'up worker api config',
      () => import('./commands/service-commands.ts'),
      (m) => [m.addServiceCommands, m.addConfigCommand],
    ),
    from(
      'migrate restored',
      () => import('./commands/database-commands.ts'),
      (m) => [m.addMigrateCommand, m.addRestoredCommand],
    ),
  ],
  'Health:': [
    from(
      'status doctor schedules',
      () => import('./commands/health-commands.ts'),
      (m) => [m.addStatusCommand, m.addDoctorCommand, m.addSchedulesCommands],
    ),
    from(
      'incidents',
      () => import('./commands/incidents-commands.ts'),
      (m) => [m.addIncidentsCommands],
    ),
    from(
      'jobs',
      () => import('./commands/jobs-commands.ts'),
      (m) => [m.addJobsCommands],
    ),
    from(
      'pause resume audit',
      () => import('./commands/pause-commands.ts'),
      (m) => [m.addPauseCommands, m.addAuditCommand],
    ),
  ],
  'Routes:': [
    from(
      'sync routes',
      () => import('./commands/sync-commands.ts'),
      (m) => [m.addSyncCommands, m.addRoutesCommands],
    ),
  ],
  'Fares:': [
    from(
      'changes verify fares',
      () => import('./commands/fares-commands.ts'),
      (m) => [m.addChangesCommand, m.addFaresCommands],
    ),
    from(
      'budget upstream answers',
      () => import('./commands/upstream-commands.ts'),
      (m) => [m.addBudgetCommand, m.addUpstreamCommands, m.addAnswersCommands],
    ),
  ],
  'Resellers:': [
    from(
      'resellers',
      () => import('./commands/resellers-commands.ts'),
      (m) => [m.addResellersCommands],
    ),
    from(
      'keys',
      () => import('./commands/keys-commands.ts'),
      (m) => [m.addKeysCommands],
    ),
    from(
      'watch-lists',
      () => import('./commands/watch-list-commands.ts'),
      (m) => [m.addWatchListCommands],
    ),
    from(
      'addresses',
      () => import('./commands/addresses-commands.ts'),
      (m) => [m.addAddressesCommands],
    ),
    from(
      'endpoints trigger',
      () => import('./commands/endpoints-commands.ts'),
      (m) => [m.addEndpointsCommands, m.addTriggerCommand],
    ),
    from(
      'deliveries',
      () => import('./commands/deliveries-commands.ts'),
      (m) => [m.addDeliveriesCommands],
    ),
    from(
      'receive',
      () => import('./commands/receive-command.ts'),
      (m) => [m.addReceiveCommand],
    ),
  ],
  'Data:': [
    from(
      'sql psql',
      () => import('./commands/database-commands.ts'),
      (m) => [m.addSqlCommands],
    ),
    from(
      'export rollup history analysts',
      () => import('./commands/history-commands.ts'),
      (m) => [m.addExportCommand, m.addRollupCommand, m.addHistoryCommands, m.addAnalystsCommands],
    ),
    from(
      'openapi',
      () => import('./commands/service-commands.ts'),
      (m) => [m.addOpenApiCommand],
    ),
  ],
  'Sandbox:': [
    from(
      'sandbox demo',
      () => import('./commands/sandbox-commands.ts'),
      (m) => [m.addSandboxCommand, m.addDemoCommand],
    ),
  ],
}

/** The command line with all commands; or with those of one module, if the word is one of theirs. */
export async function createProgram(word = ''): Promise<Command> {
  const program = emptyProgram()
  const modules = Object.entries(GROUPS).flatMap(([heading, all]) =>
    all.map((module) => ({ heading, ...module })),
  )
  const named = modules.filter(({ words }) => words.includes(word))
  for (const { heading, load } of named.length > 0 ? named : modules) {
    program.commandsGroup(heading)
    for (const add of await load()) add(program)
  }
  for (const command of program.commands) command.helpCommand(false)
  return program.commandsGroup('Help:').helpCommand('help [command]', 'Print the help of a command')
}

function emptyProgram(): Command {
  return new Command('bin/farewatch')
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
    const [word] = argv.slice(2)
    const program = isVersion(word) ? emptyProgram() : await createProgram(word)
    await program.parseAsync(argv)
    return typeof process.exitCode === 'number' ? process.exitCode : EXIT.ok
  } catch (err) {
    if (err instanceof InterruptedError) return err.exit
    if (err instanceof CommanderError) return err.exitCode === 0 ? EXIT.ok : EXIT.usage
    await reportFailure(err, argv)
    return err instanceof AppError ? exitOfError(err) : EXIT.failed
  }
}

const isVersion = (word: string | undefined) => word === '--version' || word === '-V'

const SERVICE_NAMES = new Set(['up', 'worker', 'api'])

/** In the log of a service, where each line is JSON, the failure is one too. */
async function reportFailure(err: unknown, argv: readonly string[]): Promise<void> {
  const named = nameFullDisk(messageOf(err))
  const isExpected = err instanceof AppError || named !== messageOf(err)
  const [role = '', more] = argv.slice(2)
  if (SERVICE_NAMES.has(role) && more === undefined && process.stderr.isTTY !== true) {
    const { processFields } = await import('./context.ts')
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
