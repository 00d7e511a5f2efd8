import { Command, CommanderError, Option } from 'commander'
import { AppError } from '../platform/base/errors.ts'
import { type Commands, OUTPUT_FORMATS } from './describe.ts'
import { EXIT, exitOfError, InterruptedError } from './exit-codes.ts'

/** The first words of commands, with what they are for. */
type Described = Readonly<Record<string, string>>

/**
 * The groups of `--help`, in its order, with the commands of each module. A
 * command line imports the module of its first word alone, and the module describes commands: what a command needs to run
 * is loaded when it runs.
 */
export const GROUPS: Readonly<Record<string, Readonly<Record<string, Described>>>> = {
  'Services:': {
    services: {
      up: 'Run everything in one process, with an embedded database and a sandbox where none is set',
      worker: 'Run the syncs, checks and deliveries, or some of them',
      api: 'Run the API; or call it, with a method and a path',
      config: 'Print the settings in force, without secrets',
    },
    data: {
      migrate: 'Apply the migrations that the database lacks',
      restored:
        'After a restore that PostgreSQL does not show, such as copied files: begin a generation of the feeds',
    },
  },
  'Health:': {
    health: {
      status: 'Show what is wrong, and the state of everything on one screen',
      doctor: 'Check everything that farewatch needs, and say what to do about problems',
    },
    incidents: {
      incidents: 'List, show and close incidents: times in which changes of fares are held',
    },
    jobs: {
      jobs: 'List, retry and drop jobs of the queue',
      schedules: 'List when periodic work is due, and do some now',
    },
    pauses: {
      pause: 'Pause checks, syncs or deliveries, now or at a planned time',
      resume: 'End the running pauses',
      audit: 'Show what operators changed',
    },
  },
  'Routes:': {
    sync: {
      sync: 'Pull the route lists now, or wait for the run that is already pulling them',
      runs: 'List, show, compare, approve and reject the runs of syncs',
      routes: 'Export routes',
    },
  },
  'Fares:': {
    fares: {
      changes: 'Print the changes of all tracked fares, or the feed of one reseller',
      verify: 'Ask the upstream about one flight now, within the budget',
      fares: 'Show tracked fares',
    },
    pauses: {
      budget: 'Choose the budget of upstream requests, and limit it for a while',
    },
    upstream: {
      upstream: 'Probe the upstream',
      answers: 'List and accept what answers have that the interface does not have',
    },
  },
  'Resellers:': {
    resellers: {
      resellers: 'Create, list, change, disable, enable and delete resellers',
    },
    keys: {
      keys: 'Create, list and revoke keys of the API, and print links for the page',
    },
    'watch-lists': {
      'watch-lists': 'Import, export and change watch lists',
    },
    addresses: {
      addresses: 'Allow the e-mail addresses that resellers may have messages sent to',
    },
    endpoints: {
      endpoints: 'Manage the webhook endpoints of resellers',
    },
    deliveries: {
      deliveries: 'Show deliveries, and send them again',
    },
    sandbox: {
      receive: 'Receive webhooks, verify them and print each as a line',
    },
  },
  'Data:': {
    data: {
      sql: 'Run one read-only query on the public SQL',
      psql: 'Print the connection string; on a terminal, open psql if it is installed',
      export: 'Write tables and views of the public SQL; "all" means every one for analysts',
      rollup: 'Compute the daily tables for every complete day that lacks them',
      history: 'Prove and prune the histories',
      analysts: 'Manage the logins of people who query the public SQL',
      mcp: 'Answer an assistant by the Model Context Protocol, read-only',
    },
    services: {
      openapi: 'Print the OpenAPI document of the API',
    },
  },
  'Sandbox:': {
    sandbox: {
      sandbox: 'Serve a sandbox: a simulated upstream with a world that the seed determines',
      demo: 'Watch flights of a running sandbox for the reseller "demo"',
    },
  },
  'Shell:': {
    completion: {
      completion: 'Complete commands and options in a shell',
    },
  },
}

/** The command line with all commands. Only a command that the words name has its own commands and options. */
export async function createProgram(
  words?: readonly string[],
  writeErr?: (text: string) => void,
): Promise<Command> {
  const program = emptyProgram(writeErr)
  for (const [heading, files] of Object.entries(GROUPS)) {
    program.commandsGroup(heading)
    for (const [file, described] of Object.entries(files)) {
      for (const [name, about] of Object.entries(described)) {
        const command = program.command(name).description(about).helpCommand(false)
        if (words?.includes(name) === false) continue
        const { COMMANDS } = (await import(`./commands/${file}.ts`)) as Module
        COMMANDS[name]?.(command, () => createProgram())
      }
    }
  }
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
    .addOption(
      new Option('--json', 'print the answer as JSON, of a list one line an item').implies({
        output: 'json',
      }),
    )
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
    const program = await createProgram(argv.slice(2), (text) => void faults.push(text))
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
