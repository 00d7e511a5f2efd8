import { link, rm, writeFile } from 'node:fs/promises'
import { AppError, messageOf, nameFullDisk } from '../platform/base/errors.ts'

type EmbeddedFault =
  | 'binaries_missing'
  | 'binaries_unusable'
  | 'busy'
  | 'deleted'
  | 'init_failed'
  | 'no_user_entry'
  | 'other_major_version'
  | 'other_user'
  | 'password_unknown'
  | 'silent'
  | 'start_failed'
  | 'stop_failed'
  | 'storage'

/** The embedded PostgreSQL cannot be used. The message says what to do; `code` is `embedded.<fault>`. */
export class EmbeddedPostgresError extends AppError {
  override readonly name = 'EmbeddedPostgresError'
  override readonly code: `embedded.${EmbeddedFault}`
  override readonly retryable: boolean

  constructor(fault: EmbeddedFault, message: string, options?: ErrorOptions) {
    super(nameFullDisk(message), options)
    this.code = `embedded.${fault}`
    this.retryable = fault === 'busy' || fault === 'silent'
  }
}

export const OR_SET_DATABASE_URL = 'or set DATABASE_URL to a PostgreSQL of your own'

/** Adds advice to a failed system call, such as no space, no permission or a file instead of a folder. */
export function explainSystemError(thrown: unknown, home: string): unknown {
  const isSystemError = thrown instanceof Error && 'syscall' in thrown
  const isOfLock = hasCode(thrown, 'ERR_SQLITE_ERROR')
  if (!(isSystemError || isOfLock) || thrown instanceof AppError) return thrown
  const message =
    `the embedded PostgreSQL of ${home} cannot be stored: ${messageOf(thrown)}; ` +
    `check the disk space and the permissions, choose another FAREWATCH_HOME, ${OR_SET_DATABASE_URL}`
  return new EmbeddedPostgresError('storage', message, { cause: thrown })
}

/** For `.catch`: undefined for a missing file or folder. Throws every other error. */
export function undefinedIfMissing(err: unknown): undefined {
  if (hasCode(err, 'ENOENT')) return undefined
  throw err
}

export function hasCode(err: unknown, code: string): boolean {
  return err instanceof Error && 'code' in err && err.code === code
}

/** Writes a file as a whole. False if there is one already: a link succeeds for one process only. */
export async function createOnce(file: string, text: string): Promise<boolean> {
  const partial = `${file}.${crypto.randomUUID()}`
  await writeFile(partial, text, { mode: 0o600 })
  try {
    await link(partial, file)
    return true
  } catch (err) {
    if (hasCode(err, 'EEXIST')) return false
    throw err
  } finally {
    await rm(partial)
  }
}
