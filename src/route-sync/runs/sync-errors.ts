import { AppError } from '../../base/errors.ts'
import type { RunStatus } from '../../base/kinds.ts'

export class RunNotFoundError extends AppError {
  override readonly name = 'RunNotFoundError'
  override readonly code = 'sync.run_not_found'
  override readonly retryable = false

  constructor(runId: number) {
    super(`there is no finished run ${runId}: "bin/farewatch sync runs" lists them`)
  }
}

/** A person decides about what is held, and about nothing else. */
export class NotHeldError extends AppError {
  override readonly name = 'NotHeldError'
  override readonly code = 'sync.not_held'
  override readonly retryable = false

  constructor(runId: number, status: RunStatus) {
    super(`run ${runId} is ${status}, not held: "bin/farewatch sync review" lists what is held`)
  }
}

/** A list that is older than what we hold would take back what a later one has shown. */
export class StaleRunError extends AppError {
  override readonly name = 'StaleRunError'
  override readonly code = 'sync.stale_run'
  override readonly retryable = false

  constructor(runId: number, laterRunId: number) {
    super(
      `run ${runId} cannot be approved: run ${laterRunId} has brought a later list that was accepted`,
    )
  }
}
