import { AppError } from '../../platform/base/errors.ts'
import { quote } from '../../platform/base/text.ts'
import type { InvalidRow } from './raw-row.ts'

export class UnknownWatchListError extends AppError {
  override readonly name = 'UnknownWatchListError'
  override readonly code = 'watch.unknown_list'
  override readonly retryable = false

  constructor(list: string) {
    super(`the reseller has no watch list named ${quote(list)}`)
  }
}

/** The reseller already has a watch list with this name. */
export class DuplicateWatchListError extends AppError {
  override readonly name = 'DuplicateWatchListError'
  override readonly code = 'watch.duplicate_list'
  override readonly retryable = false

  constructor(list: string) {
    super(`there is already a watch list named ${quote(list)}`)
  }
}

/** The longest delays of a reseller need more checks than its share of the budget allows. Nothing was changed. */
export class MaxDelayRefusedError extends AppError {
  override readonly name = 'MaxDelayRefusedError'
  override readonly code = 'watch.max_delay_refused'
  override readonly retryable = false

  constructor(why: string) {
    super(`max_delay_seconds: ${why}; nothing was changed`)
  }
}

const SHOWN_REFERENCES = 10

/** Some of the references are not in the list. The other watches are not changed either. */
export class UnknownReferencesError extends AppError {
  override readonly name = 'UnknownReferencesError'
  override readonly code = 'watch.unknown_references'
  override readonly retryable = false
  readonly references: readonly string[]

  constructor(list: string, references: readonly string[]) {
    const shown = references.slice(0, SHOWN_REFERENCES).map(quote).join(', ')
    const more = references.length - SHOWN_REFERENCES
    super(
      `the watch list ${quote(list)} has no ${shown}${more > 0 ? ` and ${more} more` : ''}; nothing was changed`,
    )
    this.references = references
  }
}

/** The file does not exist, cannot be read, or is of an unknown kind. */
export class UnreadableWatchFileError extends AppError {
  override readonly name = 'UnreadableWatchFileError'
  override readonly code = 'watch.unreadable_file'
  override readonly retryable = false

  constructor(file: string, why: string, options?: ErrorOptions) {
    super(`cannot read ${file}: ${why}`, options)
  }
}

/** The file is not a watch list. */
export class MalformedWatchFileError extends AppError {
  override readonly name = 'MalformedWatchFileError'
  override readonly code = 'watch.malformed_file'
  override readonly retryable = false
  /** The line of the fault, from 1. */
  readonly line: number

  constructor(file: string, line: number, fault: string, options?: ErrorOptions) {
    super(`${file}, line ${line}: ${fault}`, options)
    this.line = line
  }
}

/** Some rows are invalid, so nothing is imported. Holds the first of them, and how many there are. */
export class InvalidRowsError extends AppError {
  override readonly name = 'InvalidRowsError'
  override readonly code = 'watch.invalid_rows'
  override readonly retryable = false
  readonly rows: readonly InvalidRow[]
  readonly count: number

  constructor(
    file: string,
    invalid: { readonly rows: readonly InvalidRow[]; readonly count: number },
  ) {
    const many = invalid.count === 1 ? '1 row is invalid' : `${invalid.count} rows are invalid`
    super(`${file}: ${many}, nothing was imported\n${invalidRowLines(invalid).join('\n')}`)
    this.rows = invalid.rows
    this.count = invalid.count
  }
}

/** One line for each error, with line number and column, and how many rows are not shown. */
export function invalidRowLines(invalid: {
  readonly rows: readonly InvalidRow[]
  readonly count: number
}): string[] {
  const lines = invalid.rows.flatMap(({ line, errors }) =>
    errors.map((error) => `  line ${error.line ?? line}, ${error.column}: ${error.message}`),
  )
  const more = invalid.count - invalid.rows.length
  return more > 0 ? [...lines, `  and ${more} more invalid ${more === 1 ? 'row' : 'rows'}`] : lines
}
