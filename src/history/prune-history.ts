import { AppError } from '../platform/base/errors.ts'
import { type Db, sql, type Tx } from '../platform/db/database.ts'
import { requireSessionLock } from '../platform/db/session-lock.ts'
import { inTransaction, selectOne } from '../platform/db/transaction.ts'
import { deletePruned, PRUNED_TABLES, prunedRows } from './delete-pruned.ts'
import { measure } from './durable-files.ts'
import {
  type ExportedTable,
  folderOf,
  type Manifest,
  readManifest,
  readOrigin,
  runsAfter,
} from './export-manifest.ts'
import type { ExportPlace } from './export-place.ts'
import { rollUpDays } from './roll-up-days.ts'

/** Nothing may be deleted before the date. Nothing was. */
class PruneError extends AppError {
  override readonly name = 'PruneError'
  override readonly code = 'prune.impossible'
}

/** The page shows the beliefs of the last 60 days, and guards, incidents and replays of deliveries read less. */
const KEPT_DAYS = 60
const DAY_MS = 86_400_000
/** Whole feeds are read. The pool's limit is meant for queries. */
const PLAN_TIMEOUT = '15min'

interface PruneArgs {
  /** A midnight in UTC. */
  readonly before: Date
  /** Where the rows have been exported. */
  readonly place: ExportPlace
}

interface PruneOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((step: string) => void) | undefined
}

export interface PruneResult {
  readonly before: string
  /** Rows that this call deleted, also those that an interrupted one had left. */
  readonly deleted: number
  readonly needs: readonly Need[]
}

/** Records of a reseller before the date that stay, because an endpoint has not read them or has deliveries of them. */
interface Need {
  readonly reseller: string
  readonly endpointId: string
  /** The first number that it needs. */
  readonly seq: number
}

/**
 * Deletes closed intervals and records from before a date: checks that an export has them all, moves the floors, and deletes what is
 * below these. Before the floors move nothing is deleted, and each call deletes what is below them. Missing days before the date are rolled up
 * first, because no later roll-up can read them.
 *
 * Checks and syncs go on meanwhile. Throws PruneError, ExportError and LockHeldError.
 */
export function pruneHistory(
  db: Db,
  args: PruneArgs,
  options: PruneOptions = {},
): Promise<PruneResult> {
  return requireSessionLock(db, 'prune', () => pruneLocked(db, args, options))
}

async function pruneLocked(
  db: Db,
  { before, place }: PruneArgs,
  { signal, onProgress }: PruneOptions,
): Promise<PruneResult> {
  const day = dayOf(before)
  assertDate(before, await readDateFacts(db))
  const onDeleted = (rows: number) => onProgress?.(`deleting the rows: ${rows} of them are deleted`)
  const left = await deletePruned(db, { signal, onDeleted })
  await rollUpDays(db, { signal, onProgress, before: day })
  const plan = await planPrune(db, before)
  const { needs } = plan
  if (plan.rows === 0) return { before: day, deleted: left, needs }
  const exported = await readExport(db, place)
  assertComplete(plan, exported, place)
  await assertUnchanged(exported, place, { signal, onProgress })
  onProgress?.('moving the floors')
  signal?.throwIfAborted()
  await inTransaction(db, (tx) => moveFloors(tx, before, plan))
  return { before: day, deleted: left + (await deletePruned(db, { signal, onDeleted })), needs }
}

interface DateFacts {
  readonly now: Date
  /** The valid time of the last accepted list; null if there is none. */
  readonly lastListAt: Date | null
}

/** Throws PruneError if rows before the date are needed or may still be written. */
function assertDate(before: Date, { now, lastListAt }: DateFacts): void {
  const latest = new Date(now.getTime() - KEPT_DAYS * DAY_MS)
  if (before > latest) {
    throw new PruneError(
      `--before must be ${dayOf(latest)} or earlier: the last ${KEPT_DAYS} days stay in the database`,
    )
  }
  if (lastListAt === null || lastListAt < before) {
    throw new PruneError(
      `no route list has been accepted since ${dayOf(before)}, so changes before that day may still be recorded: choose an earlier day`,
    )
  }
}

function dayOf(instant: Date): string {
  return instant.toISOString().slice(0, 10)
}

function readDateFacts(db: Db): Promise<DateFacts> {
  return selectOne(
    sql<DateFacts>`
      select clock_timestamp() as now,
             (select max(fetched_at) from sync_run where status in ('applied', 'unchanged', 'approved')) as "lastListAt"
    `,
    db,
  )
}

/** The first numbers that stay. */
interface PrunePlan {
  /** How many rows will go. */
  readonly rows: number
  readonly routeChanges: number
  readonly availabilityChanges: number
  /** Of the intervals and of the records of resellers that will go: above the last transaction that wrote one. */
  readonly writtenBefore: number
  readonly resellers: readonly { readonly id: number; readonly first: number }[]
  readonly needs: readonly Need[]
}

/**
 * A feed keeps its records since the date and those that are needed: by an endpoint, or because a record cites them that stays.
 * The last record always stays, because the state of the feed is read from it.
 */
async function planPrune(db: Db, before: Date): Promise<PrunePlan> {
  const firstSince = (table: string) => sql`
    (select min(seq) from ${sql.table(table)} where seq >= h.first_seq and recorded_at >= ${before})`
  return inTransaction(db, async (tx) => {
    await sql`set local statement_timeout = ${sql.lit(PLAN_TIMEOUT)}`.execute(tx)
    const plan = sql<PrunePlan>`
      with own as materialized (
             select r.id, r.name, r.first_seq, n.endpoint_id, n.seq as needed, d.first as by_date,
                    greatest(r.first_seq, least(d.first, n.seq)) as first
               from reseller r
              cross join lateral (
                     select greatest(r.first_seq, least((select max(seq) from watch_change where reseller_id = r.id), min(seq))) as first
                       from watch_change where reseller_id = r.id and seq >= r.first_seq and recorded_at >= ${before}) d
               left join lateral (
                     select id as endpoint_id, least(cursor_seq + 1, (select min(seq) from delivery where endpoint_id = e.id)) as seq
                       from webhook_endpoint e where reseller_id = r.id order by 2 limit 1) n on true
              where r.last_seq > 0),
           shared as (
             select h.feed, h.first_seq, greatest(h.first_seq, case h.feed
                      when 'route' then least((select max(seq) from route_change), ${firstSince('route_change')}, cited.route)
                      else least((select max(seq) from availability_change), ${firstSince('availability_change')},
                                 cited.availability) end) as first
               from feed_head h
              cross join (select min(c.seq) as availability, min(w.route_seq) as route
                            from own
                            join watch_change w on w.reseller_id = own.id and w.seq >= own.first
                            left join availability_change c on c.id = w.change_id) cited),
           gone as (
             select count(*) as rows, max(written_in::text::bigint) as written
               from (${sql.join(
                 PRUNED_TABLES.map((table) => prunedRows(table, before)),
                 sql` union all `,
               )}
                     union all
                     select w.written_in from own join watch_change w on w.reseller_id = own.id and w.seq >= own.first_seq and w.seq < own.first) g)
      select (select rows from gone)
             + (select count(*) from shared s join route_change c on s.feed = 'route' and c.seq >= s.first_seq and c.seq < s.first)
             + (select count(*) from shared s join availability_change c on s.feed <> 'route' and c.seq >= s.first_seq and c.seq < s.first)
             as rows,
             (select first from shared where feed = 'route') as "routeChanges",
             (select first from shared where feed = 'availability') as "availabilityChanges",
             (select coalesce(written, 0) + 1 from gone) as "writtenBefore",
             (select coalesce(jsonb_agg(jsonb_build_object('id', id, 'first', first)), '[]') from own) as resellers,
             (select coalesce(jsonb_agg(jsonb_build_object('reseller', name, 'endpointId', endpoint_id, 'seq', needed) order by id), '[]')
                from own where needed < by_date) as needs
    `
    const { rows, ...floors } = await selectOne(plan, tx)
    return { rows: Number(rows), ...floors }
  })
}

/** From its commit on, readers are refused what will be deleted. */
async function moveFloors(tx: Tx, before: Date, plan: PrunePlan): Promise<void> {
  await sql`
    update feed_head
       set first_seq = case feed when 'route' then ${plan.routeChanges}::bigint else ${plan.availabilityChanges}::bigint end
  `.execute(tx)
  await sql`
    update reseller r
       set first_seq = f.first
      from jsonb_to_recordset(${JSON.stringify(plan.resellers)}::jsonb) as f (id bigint, first bigint)
     where r.id = f.id and f.first > r.first_seq
  `.execute(tx)
  await sql`
    update prune
       set before = greatest(before, ${before}),
           written_before = greatest(written_before, ${String(plan.writtenBefore)}::xid8)
  `.execute(tx)
}

/** A file of an export, and its folder. */
interface ExportedFile extends ExportedTable {
  readonly folder: string
}

/** The export by itself that is in a place, or its runs. */
async function readExport(db: Db, place: ExportPlace): Promise<ExportedFile[]> {
  const origin = await readOrigin(db)
  const filesOf = (folder: string, { tables }: Manifest) =>
    tables.map((table) => ({ folder, ...table }))
  const whole = await readManifest(place, '', origin)
  if (whole !== undefined) return filesOf('', whole)
  const files: ExportedFile[] = []
  for await (const manifest of runsAfter(place, 0, origin)) {
    files.push(...filesOf(folderOf(manifest.run), manifest))
  }
  return files
}

/** Throws PruneError if the export lacks rows that will go. */
function assertComplete(plan: PrunePlan, files: readonly ExportedFile[], { name }: ExportPlace) {
  const needed: Readonly<Record<string, number>> = {
    route_history: plan.writtenBefore,
    route_availability_history: plan.writtenBefore,
    fare_history: plan.writtenBefore,
    watch_changes: plan.writtenBefore,
    route_changes: plan.routeChanges,
    availability_changes: plan.availabilityChanges,
  }
  for (const [table, end] of Object.entries(needed)) {
    const reached = endOf(files.filter((file) => file.name === table))
    if (reached >= end) continue
    throw new PruneError(
      `${name} has ${table} up to ${reached - 1}, and rows up to ${end - 1} would be deleted: ` +
        'run "bin/farewatch export all watch_changes" there first',
    )
  }
}

/** The number after those that files of a table have without a hole. */
function endOf(files: readonly ExportedFile[]): number {
  return files.reduce(
    (end, { first, last }) =>
      first !== null && first <= end ? Math.max(end, (last ?? 0) + 1) : end,
    1,
  )
}

/** Throws PruneError if a file is not the one that was written. */
async function assertUnchanged(
  files: readonly ExportedFile[],
  place: ExportPlace,
  { signal, onProgress }: PruneOptions,
): Promise<void> {
  for (const { folder, file, bytes, sha256 } of files) {
    signal?.throwIfAborted()
    onProgress?.(`comparing ${folder}${file} with its hash`)
    const content = await place.read(folder + file)
    const found = content && (await measure(content))
    if (found?.sha256 === sha256 && found.bytes === bytes) continue
    const what = found === undefined ? 'is missing' : 'is not the file that its manifest names'
    throw new PruneError(`${place.name}/${folder}${file} ${what}`)
  }
}
