import { Command, CommanderError } from 'commander'
import packageJson from '../../package.json' with { type: 'json' }
import { AppError } from '../base/errors.ts'
import { createScrub } from '../base/secrets.ts'
import { ConfigError, loadConfig, secretsOf } from '../config/config.ts'
import { addChangesCommand } from './changes-command.ts'
import { addConfigCommand } from './config-command.ts'
import { EXIT } from './exit-codes.ts'
import { addFaresCommands } from './fares-commands.ts'
import { InterruptedError, interruptOnClosedPipe } from './interrupt.ts'
import { addKeysCommands } from './keys-commands.ts'
import { addMigrateCommand } from './migrate-command.ts'
import { addOpenApiCommand } from './openapi-command.ts'
import { addResellersCommands } from './resellers-commands.ts'
import { addRoutesCommands } from './routes-commands.ts'
import { addSandboxCommand } from './sandbox-command.ts'
import { addServiceCommands } from './service-commands.ts'
import { addSqlCommands } from './sql-commands.ts'
import { addSyncCommands } from './sync-commands.ts'
import { addUpstreamCommands } from './upstream-commands.ts'
import { addWatchListCommands } from './watch-list-commands.ts'

const USAGE_CODES = new Set(['config.invalid', 'cli.usage'])

/** The whole command line, as the tests and the documentation see it too. */
export function createProgram(): Command {
  const program = new Command('farewatch')
    .description('Watches flight routes and fares: history, changes and metrics for resellers.')
    .version(packageJson.version)
    .showHelpAfterError('(add --help for the options)')
    .exitOverride()
  addServiceCommands(program)
  addSyncCommands(program)
  addRoutesCommands(program)
  addResellersCommands(program)
  addKeysCommands(program)
  addWatchListCommands(program)
  addChangesCommand(program)
  addFaresCommands(program)
  addUpstreamCommands(program)
  addSqlCommands(program)
  addMigrateCommand(program)
  addConfigCommand(program)
  addSandboxCommand(program)
  addOpenApiCommand(program)
  return program
}

/** Runs one command line and returns its exit code; expected failures are one message, bugs are a stack. */
export async function main(argv: readonly string[]): Promise<number> {
  try {
    await createProgram().parseAsync(argv)
    return typeof process.exitCode === 'number' ? process.exitCode : EXIT.ok
  } catch (err) {
    if (err instanceof InterruptedError) return err.exit
    if (err instanceof CommanderError) return err.exitCode === 0 ? EXIT.ok : EXIT.usage
    if (err instanceof AppError) {
      process.stderr.write(scrubbed(`farewatch: ${err.message}\n`))
      return USAGE_CODES.has(err.code) ? EXIT.usage : EXIT.failed
    }
    const stack = err instanceof Error ? err.stack : err
    process.stderr.write(scrubbed(`farewatch: internal error: ${stack}\n`))
    return EXIT.failed
  }
}

/** What others say of their failures may quote a secret. */
function scrubbed(text: string): string {
  try {
    return createScrub(secretsOf(loadConfig()))(text)
  } catch (err) {
    if (err instanceof ConfigError) return text
    throw err
  }
}

interruptOnClosedPipe()
process.exitCode = await main(process.argv)
