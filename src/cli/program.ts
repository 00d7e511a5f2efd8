import { Command, CommanderError, Option } from 'commander'
import { AppError } from '../platform/base/errors.ts'
import { type Commands, OUTPUT_FORMATS } from './describe.ts'
import { EXIT, exitOfError, InterruptedError } from './exit-codes.ts'

/**
 * The groups of `--help`, in its order, with the commands of each module; docs/reference/cli.md has a section for each. A
 * command line imports the module of its first word. The modules describe commands: what a command needs to run is
 * loaded when it runs.
 */
export const GROUPS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'Services:': { services: 'up worker api config', data: 'migrate restored' },
  'Health:': {
    health: 'status doctor',
    incidents: 'incidents',
    jobs: 'jobs schedules',
    pauses: 'pause resume audit',
  },
  'Routes:': { sync: 'sync routes' },
  'Fares:': { fares: 'changes verify fares', pauses: 'budget', upstream: 'upstream answers' },
  'Resellers:': {
    resellers: 'resellers',
    keys: 'keys',
    'watch-lists': 'watch-lists',
    addresses: 'addresses',
    endpoints: 'endpoints trigger',
    deliveries: 'deliveries',
    sandbox: 'receive',
  },
  'Data:': { data: 'sql psql export rollup history analysts', services: 'openapi' },
  'Sandbox:': { sandbox: 'sandbox demo' },
  'Shell:': { completion: 'completion' },
}

/** The command line with all commands; or with those of one module, if the word is one of theirs; or with none. */
export async function createProgram(
  word = '',
  writeErr?: (text: string) => void,
): Promise<Command> {
  const program = emptyProgram(writeErr)
  if (word === '--version' || word === '-V') return program
  const modules = Object.entries(GROUPS).flatMap(([heading, files]) =>
    Object.entries(files).map(([file, words]) => ({ heading, file, words: words.split(' ') })),
  )
  const named = modules.filter(({ words }) => words.includes(word))
  for (const { heading, file, words } of named.length > 0 ? named : modules) {
    const { COMMANDS } = (await import(`./commands/${file}.ts`)) as Module
    program.commandsGroup(heading)
    for (const one of words) COMMANDS[one]?.(program, createProgram)
  }
  for (const command of program.commands) command.helpCommand(false)
  return program.commandsGroup('Help:').helpCommand('help [command]', 'Print the help of a command')
}

interface Module {
  readonly COMMANDS: Commands
}

const VERSION_CODE = 'commander.version'

/** @param writeErr takes what is wrong with the command line. */
function emptyProgram(writeErr?: (text: string) => void): Command {
  const program = new Command('bin/farewatch')
    .description('Watches flight routes and fares for resellers: history, changes and metrics.')
    .option('-V, --version', 'print the version and the commit')
    .on('option:version', () => {
      throw new CommanderError(EXIT.ok, VERSION_CODE, '')
    })
    .helpOption('-h, --help', 'print this help')
    .addOption(
      new Option(
        '-o, --output <format>',
        'the form of the answer; csv has all of its members',
      ).choices(OUTPUT_FORMATS),
    )
    .option('--json', 'print the answer as JSON, of a list one line an item')
    .option('--wide', 'cut no cell of a table to the width of the terminal')
    .option('--database', 'work on the database itself, as where no API runs')
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('(--help lists the options)')
    .exitOverride()
  return writeErr === undefined ? program : program.configureOutput({ writeErr })
}

/** Runs one command line and returns its exit code. Expected failures print a message, bugs a stack. */
export async function runCommandLine(argv: readonly string[]): Promise<number> {
  const faults: string[] = []
  try {
    const given = argv.slice(2)
    const word = given.find((one) => !one.startsWith('-')) ?? given[0]
    const program = await createProgram(word, (text) => void faults.push(text))
    await program.parseAsync(argv)
    return typeof process.exitCode === 'number' ? process.exitCode : EXIT.ok
  } catch (err) {
    if (err instanceof InterruptedError) return err.exit
    if (err instanceof CommanderError && err.exitCode === 0) {
      if (err.code === VERSION_CODE) await printVersion()
      return EXIT.ok
    }
    const { reportFailure, writeError } = await import('./work/failure.ts')
    if (err instanceof CommanderError) writeError(faults.join(''))
    else reportFailure(err, argv)
    return err instanceof AppError ? exitOfError(err) : exitOf(err)
  }
}

async function printVersion(): Promise<void> {
  const { versionText } = await import('./version.ts')
  process.stdout.write(`${versionText()}\n`)
}

/** Of a failure that the program does not expect, or of a command line that is wrong. */
function exitOf(err: unknown): number {
  return err instanceof CommanderError ? EXIT.usage : EXIT.failed
}
