import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { AppError } from '../platform/base/errors.ts'
import { type Cell, cellValue } from './parquet-file.ts'
import type { ExportColumn } from './public-tables.ts'

/** A file does not hold what it was written from. */
export class ParquetError extends AppError {
  override readonly name = 'ParquetError'
  override readonly code = 'archive.damaged'
  override readonly retryable = false
}

/**
 * Reads a file of `writeParquet` and compares each value with the cells that it was written from, a row group at a time. Throws
 * ParquetError for the first one that differs.
 */
export async function compareParquet(
  name: string,
  columns: readonly ExportColumn[],
  pages: AsyncIterable<readonly (readonly Cell[])[]>,
): Promise<void> {
  const file = await asyncBufferFromFile(name)
  const stored = await parquetMetadataAsync(file)
  // Without its logical type a value is read as it is stored: the library would round decimals and microseconds.
  const schema = stored.schema.map(({ converted_type, logical_type, ...element }) => element)
  const metadata = { ...stored, schema }
  let row = 0
  for await (const page of pages) {
    const part = { file, metadata, rowStart: row, rowEnd: row + page.length }
    const read = await parquetReadObjects(part)
    for (const [at, cells] of page.entries()) {
      const wrong = columns.find(
        ({ name: column, type }, i) =>
          storedValue(type, cells[i] ?? null) !== (read[at]?.[column] ?? null),
      )
      if (wrong !== undefined) {
        throw new ParquetError(
          `row ${row + at + 1} of ${name} differs from the database in ${wrong.name}`,
        )
      }
    }
    row += page.length
  }
  if (stored.num_rows !== BigInt(row)) {
    throw new ParquetError(`${name} has ${stored.num_rows} rows, the database has ${row}`)
  }
}

function storedValue(type: ExportColumn['type'], cell: Cell): unknown {
  const value = cellValue(type, cell)
  return type === 'json' && cell !== null ? JSON.stringify(value) : value
}
