import { AppError } from '../platform/base/errors.ts'
import type { RouteListName, RunStatus } from '../platform/base/kinds.ts'

interface FailedRun {
  readonly runId: number
  readonly list: RouteListName
  readonly reason: { readonly text: string } | null
}

/** The run is recorded; the queue tries again after its pause. */
export class SyncFailedError extends AppError {
  override readonly name = 'SyncFailedError'
  override readonly code = 'sync.failed'
  override readonly retryable = true

  constructor({ runId, list, reason }: FailedRun) {
    super(`run ${runId} of ${list} failed: ${reason?.text ?? 'no reason given'}`)
  }
}

/** Another session holds the list's lock. Its run may yet fail, so the job is tried again. */
export class ListBusyError extends AppError {
  override readonly name = 'ListBusyError'
  override readonly code = 'sync.busy'
  override readonly retryable = true

  constructor(list: RouteListName, holder: string) {
    super(`another session works on the list ${list}: its lock is ${holder}`)
  }
}

/** The clock of the process that made the job is ahead of the database's. */
export class ListNotDueError extends AppError {
  override readonly name = 'ListNotDueError'
  override readonly code = 'sync.not_due'
  override readonly retryable = true

  constructor(list: RouteListName) {
    super(`the list ${list} is not due yet by the clock of the database`)
  }
}

/** A with-availability list means nothing before there are routes: all its pairs would be unknown. */
export class NoRoutesYetError extends AppError {
  override readonly name = 'NoRoutesYetError'
  override readonly code = 'sync.no_routes_yet'
  override readonly retryable = true

  constructor() {
    super('there are no routes yet: sync the routes list first')
  }
}

/** Two runs for one due time failed with the same list. A third attempt would most likely fail too. */
export class ListFailedTwiceError extends AppError {
  override readonly name = 'ListFailedTwiceError'
  override readonly code = 'sync.list_failed_twice'

  constructor(runIds: readonly number[]) {
    super(`runs ${runIds.join(' and ')} failed with the same list; the next due time tries again`)
  }
}

/** The upstream sent our credential as the id of a place. */
export class SecretInListError extends AppError {
  override readonly name = 'SecretInListError'
  override readonly code = 'upstream.contract_violation'

  constructor() {
    super('the list holds our credential as the id of a place')
  }
}

export class RunNotFoundError extends AppError {
  override readonly name = 'RunNotFoundError'
  override readonly code = 'not_found'
  readonly missing = 'run'

  constructor(runId: number) {
    super(`there is no finished run ${runId}: "bin/farewatch runs list" lists them`)
  }
}

/** Only held runs can be approved or rejected. */
export class NotHeldError extends AppError {
  override readonly name = 'NotHeldError'
  override readonly code = 'sync.not_held'

  constructor(runId: number, status: RunStatus) {
    super(`run ${runId} is ${status}, not held: "bin/farewatch runs review" lists what is held`)
  }
}

/** The list of a run was never kept, or its retention is over. */
export class SnapshotNotKeptError extends AppError {
  override readonly name = 'SnapshotNotKeptError'
  override readonly code = 'sync.snapshot_gone'

  constructor(runId: number) {
    super(
      `the list of run ${runId} is not kept: only applied or held lists are, for SNAPSHOT_RETENTION_DAYS`,
    )
  }
}

/** The kept bytes are not the fetched ones. */
export class SnapshotDamagedError extends AppError {
  override readonly name = 'SnapshotDamagedError'
  override readonly code = 'sync.snapshot_damaged'

  constructor(contentHash: string) {
    super(`the kept list ${contentHash} is damaged: its bytes have another hash`)
  }
}
