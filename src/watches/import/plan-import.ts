import { type RawBuilder, sql, type Tx } from '../../platform/db/database.ts'
import { selectOne } from '../../platform/db/transaction.ts'
import { fieldValue, QUESTION_FIELDS, type QuestionField } from '../../upstream/question.ts'
import { questionColumns } from '../../upstream/question-sql.ts'
import { activeWatchesOf, assertMaxDelays, readMaxDelayNeed } from '../max-delays.ts'
import {
  checkRows,
  type FirstRows,
  InvalidRows,
  InvalidRowsError,
  type NumberedEntry,
} from '../rows/check-rows.ts'
import { ROUTE_FIELDS, SETTING_FIELDS, type SettingField } from '../rows/settings.ts'
import type { RowSource, WatchEntry } from '../rows/watch-row.ts'
import { hasPassed } from '../sync-tracked-fares.ts'

export interface StageArgs {
  readonly resellerId: number
  readonly source: RowSource
  /** Leave out the invalid rows. */
  readonly skipInvalid?: boolean | undefined
}

/** Stages the valid rows of a source. Throws InvalidRowsError if there are others, unless they are to be left out. */
export async function stageRows(tx: Tx, args: StageArgs): Promise<FirstRows> {
  const { resellerId, source, skipInvalid } = args
  const invalid = new InvalidRows()
  await stageWatches(tx, checkRows(source, invalid))
  await rejectPastDates(tx, resellerId, invalid)
  await rejectShortDelays(tx, resellerId, invalid)
  if (invalid.count > 0 && !skipInvalid) throw new InvalidRowsError(source.name, invalid)
  return invalid
}

/**
 * Stages the entries of a file in `staged_watch`, a temporary table of the caller's transaction, one batch for each
 * statement.
 */
async function stageWatches(
  tx: Tx,
  batches: AsyncIterable<readonly NumberedEntry[]>,
): Promise<void> {
  await createStagingTable(tx)
  for await (const batch of batches) {
    if (batch.length > 0) await insertStaged(tx, batch)
  }
  await sql`analyze staged_watch`.execute(tx)
}

/** The return flight is the empty text if there is none, so that a hash join finds equal questions. */
async function createStagingTable(tx: Tx): Promise<void> {
  await sql`
    create temp table staged_watch (
      list text collate "C" not null, reference text collate "C" not null,
      ${sql.join(QUESTION_FIELDS.map(stagedColumn))},
      ${sql.join(SETTING_FIELDS.map(({ column, sqlType }) => sql`${sql.ref(column)} ${sql.raw(sqlType)}`))},
      line integer not null
    ) on commit drop
  `.execute(tx)
}

function stagedColumn({ column, sqlType }: QuestionField): RawBuilder<unknown> {
  const type = sqlType === 'text' ? 'text collate "C"' : sqlType
  return sql`${sql.ref(column)} ${sql.raw(type)} not null`
}

async function insertStaged(tx: Tx, rows: readonly NumberedEntry[]): Promise<void> {
  const column = <T>(value: (entry: WatchEntry) => T) => rows.map(({ entry }) => value(entry))
  await sql`
    insert into staged_watch
    select * from unnest(
      ${column((e) => e.list)}::text[],
      ${column((e) => e.reference)}::text[],
      ${sql.join(QUESTION_FIELDS.map((field) => sql`${column((e) => fieldValue(e.question ?? {}, field) ?? field.default ?? '')}::${sql.raw(field.sqlType)}[]`))},
      ${sql.join(SETTING_FIELDS.map((field) => sql`${column((e) => fieldValue(e, field) ?? null)}::${sql.raw(field.sqlType)}[]`))},
      ${rows.map(({ line }) => line)}::integer[])
  `.execute(tx)
}

/**
 * Removes the staged rows whose departure date has passed, and adds them to `invalid`: such a watch would end at
 * once. A row that equals a watch in date and question stays: its watch has ended, and the same file may be
 * imported again.
 */
async function rejectPastDates(tx: Tx, resellerId: number, invalid: InvalidRows): Promise<void> {
  const { rows } = await sql<{ line: number; date: string }>`
    with past as (
           delete from staged_watch s
            where ${hasPassed(sql`s.departs_on`)}
              and not exists (select from watch_list l
                                join watch w on w.watch_list_id = l.id and w.reference = s.reference
                                join tracked_fare f on f.id = w.tracked_fare_id
                               where l.reseller_id = ${resellerId} and l.name = s.list
                                 and w.departs_on = s.departs_on and ${SAME_QUESTION})
           returning line, departs_on::text as date)
    select line, date from past order by line
  `.execute(tx)
  for (const { line, date } of rows) {
    invalid.add({ line, errors: [{ column: 'departs_on', message: `${date} has passed` }] })
  }
}

/**
 * Removes the staged rows whose longest delay is below the minimum interval of the workers, and adds them to
 * `invalid`: it could never be kept. A row that equals its watch stays.
 */
async function rejectShortDelays(tx: Tx, resellerId: number, invalid: InvalidRows): Promise<void> {
  const { rows } = await sql<{ line: number; least: number }>`
    with short as (
           delete from staged_watch s using schedule_facts c
            where s.max_delay_seconds < c.min_recheck_seconds
              and not exists (select from watch_list l
                                join watch w on w.watch_list_id = l.id and w.reference = s.reference
                               where l.reseller_id = ${resellerId} and l.name = s.list
                                 and w.max_delay_seconds = s.max_delay_seconds)
           returning s.line, c.min_recheck_seconds as least)
    select line, least from short order by line
  `.execute(tx)
  for (const { line, least } of rows) {
    const message = `must be at least ${least}, the minimum interval between two checks`
    invalid.add({ line, errors: [{ column: 'max_delay_seconds', message }] })
  }
}

/** What an import does to the watches of a reseller. */
export interface ImportPlan {
  readonly added: number
  readonly changed: number
  readonly unchanged: number
  /** How many of the changed and unchanged ones have expired and stay expired. */
  readonly ended: number
  /** How many of the changed ones lose a setting because their row does not give it. */
  readonly cleared: number
}

/** Whether staged row `s` has the question of tracked fare `f`. */
export const SAME_QUESTION = sql.join(
  QUESTION_FIELDS.map(({ column, default: absent }) => {
    const fares = sql.ref(`f.${column}`)
    const known = absent === null ? sql`coalesce(${fares}, '')` : fares
    return sql`${known} = ${sql.ref(`s.${column}`)}`
  }),
  sql` and `,
)

/** The columns of the settings of a table or alias. */
export function settingColumns(
  of: string,
  fields: readonly Pick<SettingField, 'column'>[] = SETTING_FIELDS,
): RawBuilder<unknown> {
  return sql.join(fields.map(({ column }) => sql.ref(`${of}.${column}`)))
}

const routeColumns = (of: string) => settingColumns(of, ROUTE_FIELDS)

/** The columns of the question of staged row `s` as a tracked fare has them. */
export const STAGED_QUESTION = sql.join(
  QUESTION_FIELDS.map(({ column, default: absent }) => {
    const staged = sql.ref(`s.${column}`)
    return absent === null ? sql`nullif(${staged}, '') as ${sql.ref(column)}` : staged
  }),
)

/** Whether watch `w` has a setting that staged row `s` lacks. A default is as good as none. */
const LOSES_SETTING = sql`(${sql.join(
  SETTING_FIELDS.map(({ column, sqlType, default: absent }) => {
    const none = sql`${sql.lit(absent)}::${sql.raw(sqlType)}`
    return sql`${sql.ref(`w.${column}`)} is distinct from ${none} and ${sql.ref(`s.${column}`)} is not distinct from ${none}`
  }),
  sql` or `,
)})`

/**
 * Compares every staged row with the reseller's watches, in a temporary table `watch_plan`: which watch it is, and
 * whether its question or its settings differ. The counts are the same whether or not the lists and tracked fares
 * of the file exist yet.
 */
export async function planImport(tx: Tx, resellerId: number): Promise<ImportPlan> {
  await sql`
    create temp table watch_plan on commit drop as
    select s.*, f.id as tracked_fare_id, w.id as watch_id, w.tracked_fare_id as fare_before,
           (w.tracked_fare_id, ${routeColumns('w')}) is distinct from (f.id, ${routeColumns('s')}) as other_question,
           (${settingColumns('w')}) is distinct from (${settingColumns('s')}) as other_settings,
           w.id is not null and ${LOSES_SETTING} as loses_setting,
           w.ended_at is not null and w.paused_at is null and w.departs_on is not distinct from s.departs_on as stays_ended,
           w.paused_at is not null as stays_paused
      from staged_watch s
      left join watch_list l on l.reseller_id = ${resellerId} and l.name = s.list
      left join tracked_fare f on ${SAME_QUESTION}
      left join watch w on w.watch_list_id = l.id and w.reference = s.reference and w.reseller_id = ${resellerId}
  `.execute(tx)
  await sql`analyze watch_plan`.execute(tx)
  return selectOne(
    sql<ImportPlan>`
      select count(*) filter (where watch_id is null) as added,
             count(*) filter (where watch_id is not null and (other_question or other_settings)) as changed,
             count(*) filter (where watch_id is not null and not (other_question or other_settings)) as unchanged,
             count(*) filter (where not other_question and stays_ended) as ended,
             count(*) filter (where loses_setting) as cleared
        from watch_plan
    `,
    tx,
  )
}

/**
 * What the reseller's active watches are after the import of `watch_plan`, as `activeWatchesOf` has them. A
 * question that is new has no fare yet, so its columns stand for it.
 */
function activeAfter(resellerId: number) {
  return sql`
    select fare::text, seconds
      from (${activeWatchesOf(resellerId)}) w
     where not exists (select from watch_plan p where p.watch_id = w.id)
     union all
    select coalesce(tracked_fare_id::text,
                    jsonb_build_array(${questionColumns()})::text),
           max_delay_seconds
      from watch_plan
     where not stays_paused and (other_question or not stays_ended)
  `
}

/** Judges the longest delays after the import of `watch_plan`. Throws MaxDelayRefusedError. */
export async function assertPlannedDelays(tx: Tx, resellerId: number): Promise<void> {
  await assertMaxDelays(tx, resellerId, {
    before: await readMaxDelayNeed(tx, activeWatchesOf(resellerId)),
    after: await readMaxDelayNeed(tx, activeAfter(resellerId)),
  })
}
