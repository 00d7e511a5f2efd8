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

/** The whole command line, as the tests and the documentation see it too. */
export function createProgram(): Command {
  const program = new Command('bin/farewatch')
    .description('Watches flight routes and fares: history, changes and metrics for resellers.')
    .version(packageJson.version)
    .showHelpAfterError('(add --help for the options)')
    .exitOverride()
  addServiceCommands(program)
  addStatusCommand(program)
  addDoctorCommand(program)
  addSyncCommands(program)
  addRoutesCommands(program)
  addResellersCommands(program)
  addKeysCommands(program)
  addWatchListCommands(program)
  addChangesCommand(program)
  addFaresCommands(program)
  addUpstreamCommands(program)
  addIncidentsCommands(program)
  addSchedulesCommands(program)
  addJobsCommands(program)
  addSqlCommands(program)
  addMigrateCommand(program)
  addConfigCommand(program)
  addSandboxCommand(program)
  addDemoCommand(program)
  addOpenApiCommand(program)
  return program
}
