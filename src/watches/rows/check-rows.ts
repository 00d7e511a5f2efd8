import { AppError } from '../../platform/base/errors.ts'
import { nameFault, quote } from '../../platform/base/text.ts'
import {
  type FieldValue,
  type Parsed,
  QUESTION_FIELDS,
  type Question,
  questionFrom,
  SAME_FLIGHT_RULE,
  TERM_FIELDS,
  violatedPassengerRule,
} from '../../upstream/question.ts'
import {
  groupFaults,
  ROUTE_FIELDS,
  SETTING_FIELDS,
  type SettingField,
  settingsFrom,
} from './settings.ts'
import {
  type Column,
  type InvalidRow,
  isColumn,
  neededByRoutes,
  type RawRow,
  REQUIRED_COLUMNS,
  type RowError,
  type RowSource,
  type WatchEntry,
} from './watch-row.ts'

/** How many invalid rows are reported one by one. */
const SHOWN_ROWS = 50

export interface NumberedEntry {
  readonly line: number
  readonly entry: WatchEntry
}

/** The first rows with errors or warnings, by line, and how many there are. */
export interface FirstRows {
  readonly rows: readonly InvalidRow[]
  readonly count: number
}

/** The first invalid rows of a file, and how many rows and errors there are. */
export class InvalidRows implements FirstRows {
  readonly rows: InvalidRow[] = []
  count = 0
  errors = 0

  add(row: InvalidRow): void {
    this.count += 1
    this.errors += row.errors.length
    if (this.rows.length < SHOWN_ROWS) this.rows.push(row)
  }
}

/** Yields the valid rows of a file in batches, and adds the invalid ones to `invalid`. */
export async function* checkRows(
  source: RowSource,
  invalid: InvalidRows,
): AsyncGenerator<NumberedEntry[]> {
  const findDuplicate = createDuplicateFinder()
  for await (const batch of source.read()) {
    const entries: NumberedEntry[] = []
    for (const row of batch) {
      const checked = withDuplicate(checkRow(row), findDuplicate(row))
      if ('errors' in checked) invalid.add(withCellLines(checked, row))
      else entries.push(checked)
    }
    yield entries
  }
}

/** A cell that is missing has no line: its error keeps that of the row. */
function withCellLines({ line, errors }: InvalidRow, { cellLines }: RawRow): InvalidRow {
  if (cellLines === undefined) return { line, errors }
  const lineOf = (column: string) => (isColumn(column) ? cellLines[column] : undefined)
  return { line, errors: errors.map((error) => ({ line: lineOf(error.column), ...error })) }
}

function withDuplicate(row: CheckedRow, message: string | undefined): CheckedRow {
  if (message === undefined) return row
  const errors = 'errors' in row ? row.errors : []
  return { line: row.line, errors: [...errors, { column: 'reference', message }] }
}

/**
 * Finds the second row with the same list and reference: it is invalid, even if the first one is invalid too. Keeps one
 * name for each row in memory, about 100 bytes.
 */
function createDuplicateFinder(): (row: RawRow) => string | undefined {
  const lines = new Map<string, number>()
  return ({ line, cells: { list = '', reference = '' } }) => {
    if (list === '' || reference === '') return undefined
    // No name may contain the separator.
    const key = `${list}\0${reference}`
    const first = lines.get(key)
    if (first === undefined) {
      lines.set(key, line)
      return undefined
    }
    return `${quote(reference)} is already in the list ${quote(list)}, on line ${first}`
  }
}

type CheckedRow = NumberedEntry | InvalidRow

/** Reads the texts of a row. Reports all of its errors, not only the first. */
export function checkRow(row: RawRow): CheckedRow {
  const textOf = (column: string) => row.cells[column as Column]?.trim() ?? ''
  const isOfRoute = textOf('departure') !== ''
  const required = isOfRoute ? neededByRoutes(REQUIRED_COLUMNS) : REQUIRED_COLUMNS
  const cells = createCellReader(row, required)
  const names = {
    list: cells.text('list', nameFault) ?? '',
    reference: cells.text('reference', nameFault) ?? '',
  }
  const question = questionFrom((field) => cells.value(field.column, field.parse) ?? field.default)
  const entry: WatchEntry = {
    ...names,
    question: isOfRoute ? null : question,
    ...settingsFrom((field) => cells.value(field.column as Column, field.parse) ?? field.default),
  }
  const { flightId, returnFlightId } = question
  if (flightId !== '' && flightId === returnFlightId) {
    cells.errors.push({
      column: 'return_flight_id',
      message: `${SAME_FLIGHT_RULE} (verify.same_flight)`,
    })
  }
  const { minIntervalSeconds, maxDelaySeconds } = entry
  if (maxDelaySeconds !== null && maxDelaySeconds < (minIntervalSeconds ?? 0)) {
    cells.errors.push({
      column: 'max_delay_seconds',
      message: `must not be less than min_interval_seconds, ${minIntervalSeconds}`,
    })
  }
  if (cells.errors.length === 0) {
    cells.errors.push(...groupFaults(textOf), ...(isOfRoute ? faultsOfRoute(cells) : []))
  }
  // The rules for all counts together apply only once each count can be read.
  const isTerm = (column: string) => TERM_FIELDS.some((field) => field.column === column)
  const errors = cells.errors.some(({ column }) => isTerm(column))
    ? cells.errors
    : [...cells.errors, ...(entry.question === null ? [] : passengerErrors(entry.question))]
  return errors.length > 0 ? { line: row.line, errors } : { line: row.line, entry }
}

/** A watch of a route has neither a question nor what is about the checks and prices of one. */
function faultsOfRoute({ value }: CellReader): RowError[] {
  const given = [...QUESTION_FIELDS, ...SETTING_FIELDS].filter(
    (field) =>
      !ROUTE_FIELDS.includes(field as SettingField) &&
      (value(field.column, field.parse as FieldParser) ?? field.default) !== field.default,
  )
  return given.map(({ column }) => ({
    column,
    message: 'must be missing: departure is given, so the watch is of a route and not of a flight',
  }))
}

type FieldParser = (text: string) => Parsed<FieldValue>

interface CellReader {
  readonly errors: RowError[]
  /** The cell's text; null if it is empty or breaks the rule. */
  text(column: Column, check: (text: string) => string | undefined): string | null
  /** The cell's value; null if it is empty or cannot be read. */
  value<T>(column: Column, parse: (text: string) => Parsed<T>): T | null
}

function createCellReader(
  { cells, errors: formErrors }: RawRow,
  required: readonly Column[],
): CellReader {
  const errors = [...formErrors]
  const broken = new Set(formErrors.map(({ column }) => column))
  const textIn = (column: Column): string | null => {
    const text = cells[column] ?? ''
    if (text.trim() !== '') return text
    if (required.includes(column) && !broken.has(column)) {
      errors.push({ column, message: 'is missing' })
    }
    return null
  }
  return {
    errors,
    text: (column, check) => {
      const text = textIn(column)
      const message = text === null ? undefined : check(text)
      if (message === undefined) return text
      errors.push({ column, message })
      return null
    },
    value: (column, parse) => {
      const text = textIn(column)
      if (text === null) return null
      const parsed = parse(text.trim())
      if (!('error' in parsed)) return parsed.value
      errors.push({ column, message: parsed.error })
      return null
    },
  }
}

/** The rules for all counts together, with the columns that the broken rule is about. */
function passengerErrors(question: Question): RowError[] {
  const broken = violatedPassengerRule(question)
  return broken === undefined ? [] : [{ column: broken.columns.join(', '), message: broken.rule }]
}

/** Some rows are invalid, so nothing is imported. */
export class InvalidRowsError extends AppError {
  override readonly name = 'InvalidRowsError'
  override readonly code = 'watch.invalid_rows'
  readonly invalid: InvalidRows

  constructor(file: string, invalid: InvalidRows) {
    super(`${file}: invalid rows, nothing was imported\n${invalidRowLines(invalid).join('\n')}`)
    this.invalid = invalid
  }
}

/** One line for each error, with line number and column, and how many rows are not shown. */
export function invalidRowLines(invalid: FirstRows): string[] {
  const lines = invalid.rows.flatMap(({ line, errors }) =>
    errors.map((error) => `  line ${error.line ?? line}, ${error.column}: ${error.message}`),
  )
  const more = invalid.count - invalid.rows.length
  return more > 0 ? [...lines, `  and ${more} more invalid row${more === 1 ? '' : 's'}`] : lines
}
