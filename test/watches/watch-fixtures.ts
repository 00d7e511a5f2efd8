import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { createReseller } from '../../src/resellers/resellers.ts'
import { openWatchFile, type WatchFormat, writeRows } from '../../src/watches/files/watch-file.ts'
import {
  type ImportArgs,
  type ImportOutcome,
  importWatchList,
} from '../../src/watches/import/import-watch-list.ts'
import { settingsOf } from '../../src/watches/operations/watch-operations.ts'
import { cellsAt, type RawRow, rowsOf, type WatchEntry } from '../../src/watches/rows/watch-row.ts'
import { listWatches } from '../../src/watches/watch-lists.ts'
import { asSent } from '../support/as-sent.ts'

export type Cells = RawRow['cells']

/** A valid row, for one adult. */
export function cells(given: Cells = {}): Cells {
  return {
    list: 'summer',
    reference: 'A-1',
    flight_id: '101',
    residents_adults: '0',
    non_residents_adults: '1',
    ...given,
  }
}

/** As a worker leaves it: longest delays are judged by this budget, and by this minimum interval where it is given. */
export async function knowBudget(
  db: Db,
  requestsPerSecond: number,
  minRecheckSeconds: number | null = null,
): Promise<void> {
  await sql`
    update schedule_facts
       set requests_per_second = ${requestsPerSecond},
           min_recheck_seconds = coalesce(${minRecheckSeconds}::int, min_recheck_seconds)
  `.execute(db)
}

/** Valid rows, each with a different question. */
export function manyCells(count: number, given: Cells = {}): Cells[] {
  return Array.from({ length: count }, (_, i) =>
    cells({ reference: `R${i}`, flight_id: `F${i}`, ...given }),
  )
}

export async function newReseller(db: Db, name = 'northwind'): Promise<number> {
  return (await createReseller(db, name)).id
}

export async function importRows(
  db: Db,
  resellerId: number,
  rows: readonly Cells[],
  args: Partial<ImportArgs> = {},
): Promise<ImportOutcome> {
  return importWatchList(db, { resellerId, source: rowsOf('rows', rows), ...args })
}

/** A reseller with these watches. */
export async function resellerWith(db: Db, rows: readonly Cells[], name?: string): Promise<number> {
  const resellerId = await newReseller(db, name)
  await importRows(db, resellerId, rows)
  return resellerId
}

export async function entriesOf(db: Db, resellerId: number): Promise<WatchEntry[]> {
  const watches = await listWatches(db, resellerId, { limit: 100_000 })
  return watches.map((watch) => watch.entry)
}

/** As the command line writes it, from what the API says of the watches. */
export async function exportText(
  db: Db,
  resellerId: number,
  format: WatchFormat = 'csv',
): Promise<string> {
  const watches = await listWatches(db, resellerId, { limit: 100_000 })
  const rows = watches.map((watch) => cellsAt(asSent(settingsOf(watch))))
  let text = ''
  for await (const part of writeRows([rows], format)) text += part
  return text
}

/** All columns of a reseller's watches. */
export async function watchRows(
  db: Db,
  resellerId: number,
): Promise<{ row: Record<string, unknown> }[]> {
  const { rows } = await sql<{ row: Record<string, unknown> }>`
    select to_jsonb(w) || jsonb_build_object('list', l.name) as row
      from watch w join watch_list l on l.id = w.watch_list_id
     where w.reseller_id = ${resellerId}
     order by l.name, w.reference
  `.execute(db)
  return rows
}

export interface FareRow {
  readonly id: number
  readonly flightId: string
  readonly watchers: number
  readonly ended: boolean
  readonly active: boolean
  readonly departsOn: string | null
  readonly minIntervalSeconds: number | null
  /** The lane of its schedule; null if it has none. */
  readonly lane: string | null
  /** The places of its turns in virtual time, in the order of the resellers. */
  readonly vdues: readonly number[]
}

/** All tracked fares with their schedule, by flight. */
export async function fareRows(db: Db): Promise<FareRow[]> {
  const { rows } = await sql<FareRow>`
    select f.id, f.flight_id as "flightId", f.watchers, f.ended_at is not null as ended,
           f.watchers > 0 as active, f.departs_on::text as "departsOn",
           f.min_interval_seconds as "minIntervalSeconds", q.lane,
           array(select t.vdue from turn t where t.tracked_fare_id = f.id order by t.reseller_id) as vdues
      from tracked_fare f
      left join fare_schedule q on q.tracked_fare_id = f.id
     order by f.flight_id, f.id
  `.execute(db)
  return rows
}

/** Writes a temporary file for the test. */
export async function fileOf(name: string, content: string | Uint8Array): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'farewatch-watches-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = path.join(folder, name)
  await writeFile(file, content)
  return file
}

/** The unchecked rows of a file. */
export async function readRows(name: string, content: string | Uint8Array): Promise<RawRow[]> {
  const source = await openWatchFile(await fileOf(name, content))
  const rows: RawRow[] = []
  for await (const batch of source.read()) rows.push(...batch)
  return rows
}

/** Lets the departure dates of all watches pass. */
export async function passDates(db: Db): Promise<void> {
  await sql`update watch set departs_on = '2020-01-01' where departs_on is not null`.execute(db)
  await sql`update tracked_fare set departs_on = '2020-01-01' where departs_on is not null`.execute(
    db,
  )
}
