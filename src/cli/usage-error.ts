import { AppError } from '../base/errors.ts'

/** The command line asks for something that cannot be. */
export class UsageError extends AppError {
  override readonly name = 'UsageError'
  override readonly code = 'cli.usage'
  override readonly retryable = false
}
