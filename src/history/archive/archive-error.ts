import { AppError } from '../../platform/base/errors.ts'

/** The archive cannot be made so. Nothing was deleted. */
export class ArchiveError extends AppError {
  override readonly name = 'ArchiveError'
  override readonly code = 'archive.impossible'
  override readonly retryable = false
}
