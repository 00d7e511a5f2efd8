import type { AnalystSession } from '../platform/db/analyst-session.ts'
import type { TablePart } from './export-tables.ts'
import {
  ExportError,
  type Floor,
  numbersOf,
  type PublicTable,
  rangeCondition,
  readFloors,
  sinceCondition,
} from './public-tables.ts'

/** The rows of a table that one export writes. */
export interface PlannedPart extends TablePart {
  /** The first and the last number that it covers: of records, or of transactions. Null where there is none. */
  readonly first: number | null
  readonly last: number | null
}

/** One state of the database: an export reads all tables in it. */
export interface Snapshot {
  readonly instant: string
  /** All transactions below have ended: what they wrote is seen. */
  readonly xmin: number
}

/** The first statement of a session, because it is the one that takes the snapshot. */
export async function readSnapshot(session: AnalystSession): Promise<Snapshot> {
  const { rows } = await session.query(`
    select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), pg_snapshot_xmin(pg_current_snapshot())
  `)
  const [instant, xmin] = rows[0] ?? []
  return { instant: instant ?? '', xmin: Number(xmin) }
}

/** Of each table, the first number that no run has taken. */
export type Cursors = Readonly<Record<string, number>>

export interface ExportRange {
  /** Rows from a number of a feed on, or new since an instant. */
  readonly from?: number | Date | undefined
  /** Rows that no run has taken. */
  readonly cursors?: Cursors | undefined
}

/** Throws ExportError. */
export async function planExport(
  session: AnalystSession,
  tables: readonly PublicTable[],
  { snapshot, ...range }: ExportRange & { readonly snapshot: Snapshot },
): Promise<PlannedPart[]> {
  const floors = await readFloors(session)
  const parts: PlannedPart[] = []
  for (const table of tables) {
    const last = await lastOf(session, table, snapshot)
    parts.push(partOf(table, { ...range, last, floor: floors.get(table.name) }))
  }
  return parts
}

/** The last number; 0 of a feed without records, null of a view of the present. */
async function lastOf(
  session: AnalystSession,
  table: PublicTable,
  { xmin }: Snapshot,
): Promise<number | null> {
  const numbers = numbersOf(table)
  if (numbers !== 'seq') return numbers === null ? null : xmin - 1
  const { rows } = await session.query(`select max(seq) from farewatch."${table.name}"`)
  return Number(rows[0]?.[0] ?? 0)
}

interface PartFacts extends ExportRange {
  readonly last: number | null
  readonly floor: Floor | undefined
}

function partOf(table: PublicTable, { from, cursors, last, floor }: PartFacts): PlannedPart {
  const whole = { table, where: null, first: last === null ? null : 1, last }
  if (from instanceof Date) {
    if (floor !== undefined && from < floor.completeFrom) {
      throw archivedBefore(table, floor.completeFrom.toISOString())
    }
    return { table, where: sinceCondition(table, from), first: null, last: null }
  }
  const numbers = numbersOf(table)
  if (from !== undefined) {
    if (numbers !== 'seq') {
      throw new ExportError(
        `"${table.name}" has no numbers of a feed: --from takes an instant, and --state takes each row once`,
      )
    }
    if (floor !== undefined && from < floor.number) throw archivedBefore(table, floor.number)
    return { ...whole, where: `seq >= ${from}`, first: from }
  }
  if (cursors === undefined || numbers === null || last === null) return whole
  const first = cursors[table.name] ?? 1
  if (first > 1) assertNothingMissed(table, { first, last, floor })
  return { ...whole, where: rangeCondition(table, { numbers, first, last }), first }
}

function archivedBefore({ name }: PublicTable, least: number | string): ExportError {
  return new ExportError(`"${name}" is archived before ${least}: --from must be at least that`)
}

/** A floor above the last number is one of the database that this one was restored from. */
function assertNothingMissed(
  { name }: PublicTable,
  { first, last, floor }: { first: number; last: number; floor: Floor | undefined },
): void {
  if (last < first - 1) {
    throw new ExportError(
      `the state goes on with ${first} of "${name}", and this database ends at ${last}: it is a replica that is behind, ` +
        'or a restored copy, of which everything must be loaded again',
    )
  }
  const from = floor?.number ?? 1
  if (first >= from || from > last + 1) return
  throw new ExportError(
    `"${name}" was pruned up to ${from}, and the last run took what is below ${first}: the other rows are only in the export that ` +
      'the prune checked. Load that one, and then everything again, into another place and with another state',
  )
}
