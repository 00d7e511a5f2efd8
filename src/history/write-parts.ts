import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import type { Writable } from 'node:stream'
import type { AnalystSession } from '../platform/db/analyst-session.ts'
import { flushDirectory, measureFile, type WrittenFile, writeFlushed } from './durable-files.ts'
import { daysOf, type TableFormat, writeTable } from './export-tables.ts'
import type { PlannedPart } from './plan-export.ts'
import { type ExportColumn, keyOf, type Numbers, numbersOf } from './public-tables.ts'

export interface ExportOptions {
  readonly onProgress?: ((step: string) => void) | undefined
}

/** What a manifest says of one table. */
export interface ExportedTable {
  readonly name: string
  /** The column by which rows of a later run replace earlier ones; null for a view that each run has whole. */
  readonly key: string | null
  readonly numbers: Numbers | null
  readonly first: number | null
  readonly last: number | null
  readonly rows: number
  readonly columns: readonly ExportColumn[]
  readonly files: readonly WrittenFile[]
}

interface ToWrite extends ExportOptions {
  readonly parts: readonly PlannedPart[]
  readonly format: TableFormat
  readonly staging: string
}

/** Writes each part to its files below a directory, and waits until they are on the disk. */
export async function writeParts(
  session: AnalystSession,
  { parts, format, staging, onProgress }: ToWrite,
): Promise<ExportedTable[]> {
  const tables: ExportedTable[] = []
  for (const part of parts) {
    const { table, first, last } = part
    onProgress?.(`writing ${table.name}`)
    const files: WrittenFile[] = []
    for await (const { name, write } of filesOf(session, part, format)) {
      files.push(await writeOne(staging, name, write))
    }
    await flushFolders(staging, files)
    const rows = files.reduce((sum, file) => sum + file.rows, 0)
    const { name, columns } = table
    const numbers = { key: keyOf(table), numbers: numbersOf(table), first, last }
    tables.push({ name, ...numbers, rows, columns, files })
  }
  return tables
}

interface ToFile {
  readonly name: string
  readonly write: (out: Writable) => Promise<number>
}

/** A table that has had no row gets a file without rows, so that a query over its files finds one. */
async function* filesOf(
  session: AnalystSession,
  part: PlannedPart,
  format: TableFormat,
): AsyncGenerator<ToFile> {
  const whole = (out: Writable) => writeTable(session, out, { ...part, format })
  const { day, file, table } = part
  if (day === null) return yield { name: `${file}.${format}`, write: whole }
  const nameIn = (folder: string) => `${table.name}/day=${folder}/${file}.${format}`
  let isEmpty = true
  for await (const { day: folder, write } of daysOf(session, part)) {
    isEmpty = false
    yield { name: nameIn(folder), write }
  }
  if (isEmpty && part.isFirst) yield { name: nameIn(day), write: whole }
}

/** After a crash the names of the files are there too. The directory itself is flushed with its manifest. */
async function flushFolders(directory: string, files: readonly WrittenFile[]): Promise<void> {
  const folders = new Set(files.map(({ name }) => path.dirname(path.join(directory, name))))
  for (const folder of folders) {
    if (folder === directory) continue
    folders.add(path.dirname(folder))
    await flushDirectory(folder)
  }
}

async function writeOne(
  directory: string,
  name: string,
  write: (out: Writable) => Promise<number>,
): Promise<WrittenFile> {
  const file = path.join(directory, name)
  await mkdir(path.dirname(file), { recursive: true })
  const rows = await writeFlushed(file, write)
  return { name, rows, ...(await measureFile(file)) }
}
