import { AppError } from '../../base/errors.ts'
import { quote } from '../../base/text.ts'
import type { WrongRow } from './written-row.ts'

export class UnknownWatchListError extends AppError {
  override readonly name = 'UnknownWatchListError'
  override readonly code = 'watch.unknown_list'
  override readonly retryable = false

  constructor(list: string) {
    super(`the reseller has no watch list named ${quote(list)}`)
  }
}

/** The reseller has a watch list of this name already. */
export class DuplicateWatchListError extends AppError {
  override readonly name = 'DuplicateWatchListError'
  override readonly code = 'watch.duplicate_list'
  override readonly retryable = false

  constructor(list: string) {
    super(`there is a watch list named ${quote(list)} already`)
  }
}

const SHOWN_REFERENCES = 10

/** Some of the references are not in the list; nothing was done to the others either. */
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

/** The file is not there, may not be read, or is of a kind that we do not know. */
export class UnreadableWatchFileError extends AppError {
  override readonly name = 'UnreadableWatchFileError'
  override readonly code = 'watch.unreadable_file'
  override readonly retryable = false

  constructor(file: string, why: string, options?: ErrorOptions) {
    super(`cannot read ${file}: ${why}`, options)
  }
}

/** The file as a whole is no watch list, from this line on. */
export class MalformedWatchFileError extends AppError {
  override readonly name = 'MalformedWatchFileError'
  override readonly code = 'watch.malformed_file'
  override readonly retryable = false
  /** 1-based. */
  readonly line: number

  constructor(file: string, line: number, fault: string, options?: ErrorOptions) {
    super(`${file}, line ${line}: ${fault}`, options)
    this.line = line
  }
}

/** Some rows are wrong, so nothing was imported. Holds the first of them, and how many there are. */
export class InvalidRowsError extends AppError {
  override readonly name = 'InvalidRowsError'
  override readonly code = 'watch.invalid_rows'
  override readonly retryable = false
  readonly rows: readonly WrongRow[]
  readonly count: number

  constructor(file: string, wrong: { readonly rows: readonly WrongRow[]; readonly count: number }) {
    const many = wrong.count === 1 ? '1 row is wrong' : `${wrong.count} rows are wrong`
    super(`${file}: ${many}, nothing was imported\n${wrongRowLines(wrong).join('\n')}`)
    this.rows = wrong.rows
    this.count = wrong.count
  }
}

/** One line a fault, by line number and column, and how many rows are not shown. */
export function wrongRowLines(wrong: {
  readonly rows: readonly WrongRow[]
  readonly count: number
}): string[] {
  const lines = wrong.rows.flatMap(({ line, faults }) =>
    faults.map(({ column, says }) => `  line ${line}, ${column}: ${says}`),
  )
  const more = wrong.count - wrong.rows.length
  return more > 0 ? [...lines, `  and ${more} more wrong ${more === 1 ? 'row' : 'rows'}`] : lines
}
