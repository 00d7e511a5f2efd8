import { Command } from 'commander'
import packageJson from '../../package.json' with { type: 'json' }
import { addChangesCommand } from './changes-command.ts'
import { addConfigCommand } from './config-command.ts'
import { addDemoCommand } from './demo-command.ts'
import { addDoctorCommand } from './doctor-command.ts'
import { addFaresCommands } from './fares-commands.ts'
import { addIncidentsCommands } from './incidents-commands.ts'
import { addJobsCommands } from './jobs-commands.ts'
import { addKeysCommands } from './keys-commands.ts'
import { addMigrateCommand } from './migrate-command.ts'
import { addOpenApiCommand } from './openapi-command.ts'
import { addResellersCommands } from './resellers-commands.ts'
import { addRoutesCommands } from './routes-commands.ts'
import { addSandboxCommand } from './sandbox-command.ts'
import { addSchedulesCommands } from './schedules-commands.ts'
import { addServiceCommands } from './service-commands.ts'
import { addSqlCommands } from './sql-commands.ts'
import { addStatusCommand } from './status-command.ts'
import { addSyncCommands } from './sync-commands.ts'
import { addUpstreamCommands } from './upstream-commands.ts'
import { addWatchListCommands } from './watch-list-commands.ts'

/** The whole command line, as the tests and the documentation see it too. */
export function createProgram(): Command {
  const program = new Command('farewatch')
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
