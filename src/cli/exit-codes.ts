import { AppError } from '../base/errors.ts'

/** What every command answers to the shell; docs/reference/cli.md tells them. */
export const EXIT = {
  ok: 0,
  /** It did not work; the message says why. */
  failed: 1,
  /** The command line or the configuration is wrong, or names what is not there. */
  usage: 2,
  /** A list was held for review: nothing was applied. */
  held: 3,
  interrupted: 130,
} as const

/** What only the person at the command line can mend, wherever it is found out. */
const USAGE_CODES: ReadonlySet<string> = new Set([
  'cli.usage',
  'config.invalid',
  'sandbox.routes_file',
  'upstream.question',
  'access.no_such_key',
  'access.scope_not_grantable',
  'sync.run_not_found',
  'watch.invalid_reseller_name',
  'watch.unknown_list',
  'watch.unknown_references',
  'watch.unknown_reseller',
])

/** The exit code of an expected failure. */
export function exitOfError({ code }: AppError): number {
  return USAGE_CODES.has(code) ? EXIT.usage : EXIT.failed
}

/** The command line asks for something that cannot be. */
export class UsageError extends AppError {
  override readonly name = 'UsageError'
  override readonly code = 'cli.usage'
  override readonly retryable = false
}
