import type { AnalystSession } from '../platform/db/analyst-session.ts'
import type { ExportState } from './export-state.ts'
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
  /** The name of its file, without a format. */
  readonly file: string
  /** The day of the export, if each day gets a file; else null. */
  readonly day: string | null
  /** Whether no earlier run took rows of the table. */
  readonly isFirst: boolean
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

/** An export by itself: whole tables, or what is new since a number or an instant. Throws ExportError. */
export async function planOnce(
  session: AnalystSession,
  tables: readonly PublicTable[],
  { snapshot, since }: { readonly snapshot: Snapshot; readonly since: number | Date | undefined },
): Promise<PlannedPart[]> {
  const floors = await readFloors(session)
  const parts: PlannedPart[] = []
  for (const table of tables) {
    const floor = floors.get(table.name)
    if (floor !== undefined && since !== undefined) assertKept(table.name, floor, since)
    const where = since === undefined ? null : conditionSince(table, since)
    const ends = await endsOf(session, { table, where }, snapshot)
    const file = table.name + suffixOf(since, ends)
    parts.push({ table, where, ...ends, file, day: null, isFirst: true })
  }
  return parts
}

function conditionSince(table: PublicTable, since: number | Date): string {
  if (since instanceof Date) return sinceCondition(table, since)
  if (numbersOf(table) === 'seq') return `seq > ${since}`
  throw new ExportError(
    `"${table.name}" has no column seq: of a history --from takes an instant, and --state takes each row once`,
  )
}

type Ends = Pick<PlannedPart, 'first' | 'last'>

async function endsOf(
  session: AnalystSession,
  { table, where }: TablePart,
  { xmin }: Snapshot,
): Promise<Ends> {
  const numbers = numbersOf(table)
  if (numbers !== 'seq') return { first: null, last: numbers === null ? null : xmin - 1 }
  const { rows } = await session.query(
    `select min(seq), max(seq) from farewatch."${table.name}"${where === null ? '' : ` where ${where}`}`,
  )
  const [first, last] = rows[0] ?? []
  return { first: first == null ? null : Number(first), last: last == null ? null : Number(last) }
}

/** The range is part of the name, so that a part does not take the place of the whole. */
function suffixOf(since: number | Date | undefined, { first, last }: Ends): string {
  if (since === undefined) return ''
  if (since instanceof Date) return `-since-${since.toISOString().replaceAll(/[:.]/g, '')}`
  return first === null ? `-after-${since}` : `-${first}-${last}`
}

/** Throws ExportError if rows since then are archived: the export would lack them. */
function assertKept(name: string, { completeFrom, firstSeq }: Floor, since: number | Date): void {
  if (since instanceof Date ? since >= completeFrom : since >= (firstSeq ?? 1) - 1) return
  const least = since instanceof Date ? completeFrom.toISOString() : (firstSeq ?? 1)
  throw new ExportError(`"${name}" is archived before ${least}: --from must be at least that`)
}

/** One of a row of runs: what no earlier one has taken. Throws ExportError. */
export async function planRun(
  session: AnalystSession,
  tables: readonly PublicTable[],
  { snapshot, last }: { readonly snapshot: Snapshot; readonly last: ExportState | undefined },
): Promise<PlannedPart[]> {
  const floors = await readFloors(session)
  const parts: PlannedPart[] = []
  for (const table of tables) {
    const numbers = numbersOf(table)
    const taken = last?.tables[table.name]
    const from = taken?.next ?? 1
    if (numbers === null) {
      const whole = { where: null, first: null, last: null, day: null, isFirst: true }
      parts.push({ table, ...whole, file: table.name })
      continue
    }
    const ends = await endsOf(session, { table, where: null }, snapshot)
    const to = (ends.last ?? from - 1) + 1
    if (taken !== undefined)
      assertNothingMissed(table.name, { ...taken, to }, floors.get(table.name))
    const where = rangeCondition(table, { numbers, from, to })
    const file = `part-${from}-${to - 1}`
    const day = snapshot.instant.slice(0, 10)
    const isFirst = taken === undefined
    parts.push({ table, where, first: from, last: to - 1, file, day, isFirst })
  }
  return parts
}

function assertNothingMissed(
  name: string,
  { next, to, instant }: ExportState['tables'][string] & { readonly to: number },
  floor: Floor | undefined,
): void {
  if (to < next) {
    throw new ExportError(
      `the state goes on with ${next} of "${name}", and this database ends at ${to - 1}: it is a replica that is behind, ` +
        'or a restored copy, of which everything must be loaded again',
    )
  }
  if (floor === undefined) return
  const { completeFrom, firstSeq } = floor
  if (firstSeq === null ? new Date(instant) >= completeFrom : next >= firstSeq) return
  throw new ExportError(
    `"${name}" was archived after the last run, which was at ${instant}, so rows that no run took are in the files of the ` +
      'archive alone: load these, and then everything again, into another directory and with another state',
  )
}

/** The state once the parts of a run are taken. A table that the run left out goes on where it was. */
export function stateAfter(
  run: Omit<ExportState, 'tables'>,
  { instant }: Snapshot,
  {
    parts,
    last,
  }: { readonly parts: readonly PlannedPart[]; readonly last: ExportState | undefined },
): ExportState {
  const taken = parts.flatMap(({ table, last: number }) =>
    number === null ? [] : [[table.name, { next: number + 1, instant }] as const],
  )
  return { ...run, tables: { ...last?.tables, ...Object.fromEntries(taken) } }
}
