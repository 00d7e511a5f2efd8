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

interface CommandEntry {
  /** The first words of the commands that `load` adds. */
  readonly names: readonly string[]
  readonly load: () => Promise<Add>
}

const entry = <M>(
  names: string,
  load: () => Promise<M>,
  add: (module: M) => Add,
): CommandEntry => ({
  names: names.split(' '),
  load: async () => add(await load()),
})

const database = () => import('./commands/database-commands.ts')
const endpoints = () => import('./commands/endpoints-commands.ts')
const fares = () => import('./commands/fares-commands.ts')
const health = () => import('./commands/health-commands.ts')
const history = () => import('./commands/history-commands.ts')
const incidents = () => import('./commands/incidents-commands.ts')
const jobs = () => import('./commands/jobs-commands.ts')
const keys = () => import('./commands/keys-commands.ts')
const deliveries = () => import('./commands/deliveries-commands.ts')
const pauses = () => import('./commands/pause-commands.ts')
const receive = () => import('./commands/receive-command.ts')
const resellers = () => import('./commands/resellers-commands.ts')
const sandbox = () => import('./commands/sandbox-commands.ts')
const services = () => import('./commands/service-commands.ts')
const sync = () => import('./commands/sync-commands.ts')
const upstream = () => import('./commands/upstream-commands.ts')
const watchLists = () => import('./commands/watch-list-commands.ts')

/**
 * The groups of `--help`, in its order; docs/reference/cli.md has a section for each. A command line imports what its
 * command needs: all of them together cost three times the processor time of one.
 */
export const GROUPS: readonly (readonly [heading: string, readonly CommandEntry[]])[] = [
  [
    'Services:',
    [
      entry('up worker api', services, (m) => m.addServiceCommands),
      entry('migrate', database, (m) => m.addMigrateCommand),
      entry('restored', database, (m) => m.addRestoredCommand),
      entry('config', services, (m) => m.addConfigCommand),
    ],
  ],
  [
    'Health:',
    [
      entry('status', health, (m) => m.addStatusCommand),
      entry('doctor', health, (m) => m.addDoctorCommand),
      entry('incidents', incidents, (m) => m.addIncidentsCommands),
      entry('schedules', health, (m) => m.addSchedulesCommands),
      entry('jobs', jobs, (m) => m.addJobsCommands),
      entry('pause resume', pauses, (m) => m.addPauseCommands),
      entry('audit', pauses, (m) => m.addAuditCommand),
    ],
  ],
  [
    'Routes:',
    [
      entry('sync', sync, (m) => m.addSyncCommands),
      entry('routes', sync, (m) => m.addRoutesCommands),
    ],
  ],
  [
    'Fares:',
    [
      entry('changes', fares, (m) => m.addChangesCommand),
      entry('verify fares', fares, (m) => m.addFaresCommands),
      entry('budget', upstream, (m) => m.addBudgetCommand),
      entry('upstream', upstream, (m) => m.addUpstreamCommands),
      entry('answers', upstream, (m) => m.addAnswersCommands),
    ],
  ],
  [
    'Resellers:',
    [
      entry('resellers', resellers, (m) => m.addResellersCommands),
      entry('keys', keys, (m) => m.addKeysCommands),
      entry('watch-lists', watchLists, (m) => m.addWatchListCommands),
      entry('endpoints', endpoints, (m) => m.addEndpointsCommands),
      entry('deliveries', deliveries, (m) => m.addDeliveriesCommands),
      entry('trigger', endpoints, (m) => m.addTriggerCommand),
      entry('receive', receive, (m) => m.addReceiveCommand),
    ],
  ],
  [
    'Data:',
    [
      entry('sql psql', database, (m) => m.addSqlCommands),
      entry('export', history, (m) => m.addExportCommand),
      entry('rollup', history, (m) => m.addRollupCommand),
      entry('history', history, (m) => m.addHistoryCommands),
      entry('archive', history, (m) => m.addArchiveCommand),
      entry('analysts', history, (m) => m.addAnalystsCommands),
      entry('openapi', services, (m) => m.addOpenApiCommand),
    ],
  ],
  [
    'Sandbox:',
    [
      entry('sandbox', sandbox, (m) => m.addSandboxCommand),
      entry('demo', sandbox, (m) => m.addDemoCommand),
    ],
  ],
]

/** The command line with all commands; or with those of its first word alone, if it is the name of one. */
export async function createProgram(word?: string): Promise<Command> {
  const program = emptyProgram()
  const isNamed = ({ names }: CommandEntry) => word !== undefined && names.includes(word)
  const isOne = GROUPS.some(([, entries]) => entries.some(isNamed))
  for (const [heading, entries] of GROUPS) {
    program.commandsGroup(heading)
    for (const one of entries) {
      if (isOne && !isNamed(one)) continue
      const add = await one.load()
      add(program)
    }
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
