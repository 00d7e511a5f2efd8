import { CommanderError } from 'commander'
import { AppError } from '../base/errors.ts'
import { createScrub } from '../base/secrets.ts'
import { ConfigError, loadConfig, secretsOf } from '../config/config.ts'
import { EXIT, exitOfError } from './exit-codes.ts'
import { InterruptedError, interruptOnClosedPipe } from './interrupt.ts'
import { createProgram } from './program.ts'

/** Runs one command line and returns its exit code. Expected failures print a message, bugs a stack. */
export async function main(argv: readonly string[]): Promise<number> {
  try {
    await createProgram().parseAsync(argv)
    return typeof process.exitCode === 'number' ? process.exitCode : EXIT.ok
  } catch (err) {
    if (err instanceof InterruptedError) return err.exit
    if (err instanceof CommanderError) return err.exitCode === 0 ? EXIT.ok : EXIT.usage
    if (err instanceof AppError) {
      process.stderr.write(scrubbed(`farewatch: ${err.message}\n`))
      return exitOfError(err)
    }
    const stack = err instanceof Error ? err.stack : err
    process.stderr.write(scrubbed(`farewatch: internal error: ${stack}\n`))
    return EXIT.failed
  }
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

interruptOnClosedPipe()
process.exitCode = await main(process.argv)
