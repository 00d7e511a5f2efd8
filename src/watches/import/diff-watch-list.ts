import { type Db, sql, type Tx } from '../../platform/db/database.ts'
import type { FieldValue } from '../../upstream/question.ts'
import { COLUMNS, type Column, cellsOf, type WatchEntry } from '../rows/watch-row.ts'
import { ENTRY_COLUMNS } from '../watch-lists.ts'
import { findWarnings } from './find-warnings.ts'
import type { WarnedPlan } from './import-watch-list.ts'
import {
  assertPlannedDelays,
  planImport,
  type StageArgs,
  stagedQuestion,
  stageRows,
} from './plan-import.ts'

interface DiffArgs extends Pick<StageArgs, 'resellerId' | 'source'> {
  /** Receives the rows in pages, sorted by list and reference. */
  readonly onRows: (rows: readonly DiffRow[]) => void | Promise<void>
}

/** How a watch differs from a file. `absent`: the list is in the file, but the watch is not. */
export interface DiffRow {
  readonly kind: 'added' | 'changed' | 'absent'
  readonly list: string
  readonly reference: string
  /** The columns that differ, if the row is `changed`. */
  readonly cells: readonly ChangedCell[]
}

interface ChangedCell {
  readonly column: Column
  readonly before: FieldValue
  readonly after: FieldValue
}

export interface DiffOutcome extends WarnedPlan {
  /** Watches that are not in the file. An import does not change them. */
  readonly absent: number
}

const PAGE_ROWS = 5_000

/**
 * Shows what an import of the file would do: plans the import in a transaction and rolls it back.
 * Throws the import's errors about the file, and MaxDelayRefusedError.
 */
export async function diffWatchList(db: Db, args: DiffArgs): Promise<DiffOutcome> {
  const tx = await db.startTransaction().execute()
  try {
    await stageRows(tx, args)
    const plan = await planImport(tx, args.resellerId)
    await assertPlannedDelays(tx, args.resellerId)
    await collectDifferences(tx, args.resellerId)
    const absent = await reportDifferences(tx, args)
    return { ...plan, absent, warnings: await findWarnings(tx, args.resellerId) }
  } finally {
    await tx.rollback().execute()
  }
}

async function collectDifferences(tx: Tx, resellerId: number): Promise<void> {
  await sql`
    create temp table watch_difference on commit drop as
    select row_number() over (order by list, reference) as position, d.*
      from (select case when watch_id is null then 'added' else 'changed' end as kind,
                   list, reference, watch_id
              from watch_plan
             where watch_id is null or other_question or other_settings
            union all
            select 'absent', l.name, w.reference, w.id
              from watch w
              join watch_list l on l.id = w.watch_list_id
             where w.reseller_id = ${resellerId}
               and l.name in (select list from staged_watch)
               and not exists (select from watch_plan p where p.watch_id = w.id)) d
  `.execute(tx)
}

interface DifferenceRow extends Omit<DiffRow, 'cells'> {
  readonly position: number
  /** Null unless the row is `changed`. */
  readonly before: WatchEntry | null
  readonly after: WatchEntry | null
}

async function reportDifferences(tx: Tx, { onRows }: DiffArgs): Promise<number> {
  let absent = 0
  let after = 0
  for (;;) {
    const rows = await readDifferences(tx, after)
    const last = rows.at(-1)
    if (last === undefined) return absent
    absent += rows.filter((row) => row.kind === 'absent').length
    await onRows(rows.map(diffRowOf))
    after = last.position
  }
}

async function readDifferences(tx: Tx, after: number): Promise<DifferenceRow[]> {
  const { rows } = await sql<DifferenceRow>`
    select d.position, d.kind, d.list, d.reference, to_jsonb(before) as before, to_jsonb(after) as after
      from watch_difference d
      left join lateral (
           select d.list, d.reference, ${ENTRY_COLUMNS}
             from watch w
             left join tracked_fare f on f.id = w.tracked_fare_id
            where d.kind = 'changed' and w.id = d.watch_id) before on true
      left join lateral (
           select w.list, w.reference, ${ENTRY_COLUMNS}
             from watch_plan w
            cross join lateral (select w.tracked_fare_id as id, ${stagedQuestion('w')}) f
            where d.kind = 'changed' and w.watch_id = d.watch_id) after on true
     where d.position > ${after} and d.position <= ${after + PAGE_ROWS}
     order by d.position
  `.execute(tx)
  return rows
}

function diffRowOf({ kind, list, reference, before, after }: DifferenceRow): DiffRow {
  if (before === null || after === null) return { kind, list, reference, cells: [] }
  const old = cellsOf(before)
  const now = cellsOf(after)
  const cells = COLUMNS.filter((column) => old[column] !== now[column]).map((column) => ({
    column,
    before: old[column],
    after: now[column],
  }))
  return { kind, list, reference, cells }
}
