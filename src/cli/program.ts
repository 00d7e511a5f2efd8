import { Command } from 'commander'
import packageJson from '../../package.json' with { type: 'json' }
import { addChangesCommand } from './commands/changes-command.ts'
import { addConfigCommand, addOpenApiCommand } from './commands/config-commands.ts'
import { addMigrateCommand, addSqlCommands } from './commands/database-commands.ts'
import { addDoctorCommand } from './commands/doctor-command.ts'
import { addFaresCommands } from './commands/fares-commands.ts'
import { addIncidentsCommands } from './commands/incidents-commands.ts'
import { addJobsCommands } from './commands/jobs-commands.ts'
import { addKeysCommands } from './commands/keys-commands.ts'
import { addResellersCommands } from './commands/resellers-commands.ts'
import { addRoutesCommands } from './commands/routes-commands.ts'
import { addDemoCommand, addSandboxCommand } from './commands/sandbox-commands.ts'
import { addSchedulesCommands } from './commands/schedules-commands.ts'
import { addServiceCommands } from './commands/service-commands.ts'
import { addStatusCommand } from './commands/status-command.ts'
import { addSyncCommands } from './commands/sync-commands.ts'
import { addUpstreamCommands } from './commands/upstream-commands.ts'
import { addWatchListCommands } from './commands/watch-list-commands.ts'

/** The groups of `--help`, in its order; docs/reference/cli.md has a section for each. */
const GROUPS: readonly (readonly [string, readonly ((program: Command) => void)[]])[] = [
  ['Services:', [addServiceCommands, addMigrateCommand, addConfigCommand]],
  [
    'Health:',
    [
      addStatusCommand,
      addDoctorCommand,
      addIncidentsCommands,
      addSchedulesCommands,
      addJobsCommands,
    ],
  ],
  ['Routes:', [addSyncCommands, addRoutesCommands]],
  ['Fares:', [addChangesCommand, addFaresCommands, addUpstreamCommands]],
  ['Resellers:', [addResellersCommands, addKeysCommands, addWatchListCommands]],
  ['Data:', [addSqlCommands, addOpenApiCommand]],
  ['Sandbox:', [addSandboxCommand, addDemoCommand]],
]

/** The whole command line, for `main.ts`, the tests and the reference page. */
export function createProgram(): Command {
  const program = new Command('bin/farewatch')
    .description('Watches flight routes and fares for resellers: history, changes and metrics.')
    .version(packageJson.version, '-V, --version', 'Print the version')
    .helpOption('-h, --help', 'Print this help')
    .showHelpAfterError('(--help lists the options)')
    .exitOverride()
  for (const [heading, adders] of GROUPS) {
    program.commandsGroup(heading)
    for (const add of adders) add(program)
  }
  return program.commandsGroup('Help:').helpCommand('help [command]', 'Print the help of a command')
}
