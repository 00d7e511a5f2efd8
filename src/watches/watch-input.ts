import { setImmediate as otherWork } from 'node:timers/promises'
import { quote } from '../platform/base/text.ts'
import { ProblemError, type ProblemFault } from '../platform/http/problems.ts'
import { type FieldValue, QUESTION_FIELDS, type QuestionInput } from '../upstream/question.ts'
import { readCsv } from './files/read-csv.ts'
import { MalformedWatchFileError, type TextSource } from './files/read-text-blocks.ts'
import { checkRow } from './rows/check-rows.ts'
import type { SettingsInput } from './rows/settings.ts'
import {
  cellsAt,
  type InvalidRow,
  isColumn,
  PLACES,
  type RawRow,
  REQUIRED_COLUMNS,
  ROWS_AT_A_TIME,
  type RowError,
  type RowSource,
} from './rows/watch-row.ts'

/** A watch in a request body. */
export interface WatchInput extends Omit<QuestionInput, 'flightId'>, SettingsInput {
  readonly reference: string
  /** Null, as if missing, in a watch of a route. */
  readonly flightId?: string | null | undefined
}

export type Cells = RawRow['cells']

/** The watch as a row of a file, so that the same rules apply to both. */
export function cellsOfInput(list: string, watch: WatchInput): Cells {
  const cells = Object.entries(cellsAt({ ...watch, list }))
  return Object.fromEntries(
    cells.map(([column, value]) => [column, String(value ?? DEFAULTS.get(column) ?? '')]),
  )
}

const DEFAULTS = new Map<string, FieldValue>(
  QUESTION_FIELDS.map((field) => [field.column, field.default]),
)

/**
 * The errors of a body's rows, in their order, each with a JSON pointer to its place. Lets other requests run
 * meanwhile.
 */
export async function errorsOfInput(rows: readonly Cells[]): Promise<ProblemFault[]> {
  const errorsOf = createRowChecker()
  const errors: ProblemFault[] = []
  for (const [index, cells] of rows.entries()) {
    if (index % ROWS_AT_A_TIME === 0) await otherWork()
    errors.push(...errorsOf(cells, index))
  }
  return errors
}

/** Checks rows in their order, because the second row of a reference is invalid. */
function createRowChecker(): (cells: Cells, index: number) => ProblemFault[] {
  const firstOf = new Map<string, number>()
  return (cells, index) => {
    const checked = checkRow({ line: index + 1, cells, errors: [] })
    const errors = 'errors' in checked ? checked.errors : []
    const found = faultsOf({ line: index + 1, errors })
    const { reference = '' } = cells
    const first = firstOf.get(reference)
    if (first === undefined) {
      firstOf.set(reference, index)
      return found
    }
    const detail = `${quote(reference)} is already the reference of /watches/${first}`
    return [...found, { pointer: `/watches/${index}/reference`, detail }]
  }
}

/** The errors of one row of a body, each with a JSON pointer to its place. */
export function faultsOf({ line, errors }: InvalidRow): ProblemFault[] {
  return faultsWithin(`/watches/${line - 1}`, errors)
}

/** The errors of a watch that is at this place of a body. */
export function faultsWithin(place: string, errors: readonly RowError[]): ProblemFault[] {
  return errors.map(({ column, message }) => ({
    pointer: `${place}${placeOf(column)}`,
    detail: message,
  }))
}

/** The list is in the path. A rule that is about several columns is about the passenger mix. */
function placeOf(column: string): string {
  if (column === 'list') return ''
  return isColumn(column) ? PLACES[column] : '/passengers'
}

/** The list is in the path. */
const REQUIRED = REQUIRED_COLUMNS.filter((column) => column !== 'list')

interface CsvRows {
  readonly list: string
  readonly maxRows: number
  /** The references of the rows, from the beginning each time that the body is read. */
  readonly references: string[]
}

/** A CSV body whose rows all belong to one list. Reading throws a ProblemError if the body is no CSV of watches. */
export function csvSource(body: TextSource, rows: CsvRows): RowSource {
  return { name: body.name, read: () => readCsvBody(body, rows) }
}

async function* readCsvBody(
  body: TextSource,
  { list, maxRows, references }: CsvRows,
): AsyncGenerator<RawRow[]> {
  references.length = 0
  try {
    for await (const batch of readCsv(body, REQUIRED)) {
      for (const { cells } of batch) references.push(cells.reference ?? '')
      if (references.length > maxRows) throw invalid('', `must not have more than ${maxRows} rows`)
      yield batch.map((row) => rowOfList(row, list))
      await otherWork()
    }
  } catch (err) {
    if (err instanceof MalformedWatchFileError) throw invalid(`/${err.line}`, err.message)
    throw err
  }
  if (references.length === 0) throw invalid('', 'the body has no row after its header')
}

function rowOfList({ cells, errors, ...row }: RawRow, list: string): RawRow {
  const given = cells.list ?? ''
  const message = `must be ${quote(list)} as in the address, or empty`
  return {
    ...row,
    cells: { ...cells, list },
    errors: given === '' || given === list ? errors : [...errors, { column: 'list', message }],
  }
}

function invalid(pointer: string, detail: string): ProblemError {
  return new ProblemError('request.invalid_body', { pointer, detail })
}

/** The errors of one row of a CSV body. The pointer is its line and the column; the line alone if it is about several. */
export function csvFaultsOf({ line, errors }: InvalidRow): ProblemFault[] {
  return errors.map(({ column, message }) => ({
    pointer: isColumn(column) ? `/${line}/${column}` : `/${line}`,
    detail: message,
  }))
}
