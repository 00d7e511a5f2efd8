import { AppError } from '../platform/base/errors.ts'

/** The exit codes of every command. */
export const EXIT = { ok: 0, failed: 1, usage: 2, held: 3, interrupted: 130 } as const

/** What each exit code means, for docs/reference/cli.md; a command's help names its special cases. */
export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: 'The command did its work.',
  failed: 'The command failed. The message says why.',
  usage:
    'The command line or the configuration is wrong, or it names something that does not exist.',
  held: 'A route list was held for review. Nothing of it was applied.',
  interrupted: 'A signal ended the command. A service that stops in order exits with 0.',
}

/** The errors that another command line or configuration avoids. */
const USAGE_CODES: ReadonlySet<string> = new Set([
  'archive.impossible',
  'changes.archived',
  'history.archived',
  'cli.usage',
  'config.invalid',
  'embedded.no_sandbox',
  'incident.not_found',
  'sandbox.routes_file',
  'upstream.question',
  'not_found',
  'request.invalid_body',
  'access.no_such_key',
  'access.scope_not_grantable',
  'sync.cannot_replay',
  'sync.run_not_found',
  'watch.invalid_reseller_name',
  'watch.unknown_list',
  'watch.unknown_references',
  'watch.unknown_reseller',
  'verify.same_flight',
])

/** The exit code of an expected failure. */
export function exitOfError({ code }: AppError): number {
  return USAGE_CODES.has(code) ? EXIT.usage : EXIT.failed
}

/** The command line asks for something impossible. */
export class UsageError extends AppError {
  override readonly name = 'UsageError'
  override readonly code = 'cli.usage'
  override readonly retryable = false
}
