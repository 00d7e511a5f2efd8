import { readFile } from 'node:fs/promises'
import { AppError } from '../../platform/base/errors.ts'
import type { RouteListName } from '../../platform/base/kinds.ts'
import type { Scrub } from '../../platform/base/secrets.ts'
import { type Db, sql, type Tx } from '../../platform/db/database.ts'
import { readHistoryFloor } from '../../platform/db/history-floor.ts'
import { findLockHolder, withSessionLock } from '../../platform/db/session-lock.ts'
import { isReadable, listOfRun, readSlices, stageSnapshot } from '../list.ts'
import { ACCEPTED, ARRIVED_AT } from '../runs.ts'

const LOCK = 'prove'
const DIFFERENCES = new URL('differences.sql', import.meta.url)

/** No accepted list of the routes is kept, or another proof runs. */
export class CannotProveError extends AppError {
  override readonly name = 'CannotProveError'
  override readonly code = 'sync.cannot_prove'
}

/** How far the proof reached back for one list. */
interface ProvedList {
  readonly list: RouteListName
  /** The valid times of the oldest and the newest run that was compared. */
  readonly since: Date
  readonly until: Date
  /** Accepted runs since then, and those whose list could be read. */
  readonly runs: number
  readonly compared: number
}

interface Difference {
  /** The view that shows it. */
  readonly kind: string
  /** The run from which on it differs; null if it belongs to no run. */
  readonly runId: number | null
  readonly at: Date | null
  /** The ids of a route, of a place, or of a record. */
  readonly subject: Readonly<Record<string, string>>
  readonly field: string
  readonly expected: unknown
  readonly stored: unknown
}

export interface ProofResult {
  readonly equal: boolean
  readonly lists: readonly ProvedList[]
  /** The histories before it are archived, and not compared; null if nothing was archived. */
  readonly floor: Date | null
  readonly differences: number
  /** How many there are of each kind that there is. */
  readonly kinds: Readonly<Record<string, number>>
  /** The earliest difference; null if there is none. */
  readonly first: Difference | null
  /** The differences by time: all, or the first of each kind. */
  readonly all: readonly Difference[]
}

interface ProveDeps {
  readonly db: Db
  readonly scrub: Scrub
  /** The setting, for runs that did not record theirs. */
  readonly confirmations: number
}

interface ProveOptions {
  readonly signal: AbortSignal
  readonly onRun?: (progress: { readonly list: RouteListName; readonly runs: number }) => void
  /** How many differences of each kind are returned; null: all. All are counted. */
  readonly most?: number | null
}

/**
 * Compares the histories of routes, places and availability with the accepted lists that are kept, and the feeds
 * with the histories. The rules are written a second time, in differences.sql.
 *
 * All is read in one transaction, which sees one state of the database; it writes temporary tables alone and blocks
 * no sync. Throws CannotProveError.
 */
export async function proveHistory(deps: ProveDeps, options: ProveOptions): Promise<ProofResult> {
  const result = await withSessionLock(deps.db, LOCK, (session) =>
    session
      .transaction()
      .setIsolationLevel('repeatable read')
      .execute(async (tx) => {
        await sql`set local statement_timeout = '15min'; set local work_mem = '64MB'`.execute(tx)
        await numberRuns(tx, deps.confirmations)
        await readLists(tx, deps.scrub, options)
        const lists = await findCompared(tx)
        const found = await findDifferences(tx, options)
        const floor = await readHistoryFloor(tx)
        // The views would outlive the transaction on a connection of the pool.
        await sql`discard temp`.execute(tx)
        return resultOf(lists, floor, found)
      }),
  )
  if (result !== undefined) return result
  const holder = await findLockHolder(deps.db, LOCK)
  throw new CannotProveError(`another proof runs: its lock is ${holder}`)
}

/**
 * Numbers the accepted runs of each list from 1, from the oldest one whose list is kept, and not from before the
 * floor of the histories; earlier ones have no `position`. `known`: the list of the run could be read.
 */
async function numberRuns(tx: Tx, confirmations: number): Promise<void> {
  await sql`
    create temporary table proof_run as
    select id as run_id, list, fetched_at as at, arrival as arrived_at, baseline, content_hash, bytes, false as known,
           lag(arrival) over (partition by list order by fetched_at) as previous_at,
           case when is_kept
                then row_number() over (partition by list, is_kept order by fetched_at) end::integer as position,
           coalesce(confirmations, case when status = 'approved' then 1 else ${sql.lit(confirmations)} end) as confirmations,
           case when pending_places is null then 1 else coalesce(confirmations, 1) end as place_confirmations,
           status = 'approved' as is_approved, coalesce(reason_code = 'agreed', false) as is_released
      from (select *, date_trunc('milliseconds', ${ARRIVED_AT}) as arrival,
                   fetched_at >= (select before from history_floor) and fetched_at >= (
                     select min(o.fetched_at)
                       from sync_run o
                       join snapshot s on s.content_hash = o.content_hash
                      where o.list = r.list and o.status in ${ACCEPTED}) as is_kept
              from sync_run r
             where status in ${ACCEPTED}) r;
    create unique index on proof_run (list, position);
    create unique index on proof_run (list, at);
    create temporary table proof_listed (list text, kind text, a text, b text, first integer, until integer)
  `.execute(tx)
}

interface NumberedRun {
  readonly list: RouteListName
  readonly position: number
  readonly runId: number
  readonly contentHash: string
  readonly bytes: number
}

/**
 * Reads the kept lists one after the other into `proof_listed`: the spans of positions in which lists showed a pair
 * (`route`, `availability`), and attributes of a place (`place`).
 */
async function readLists(tx: Tx, scrub: Scrub, { signal, onRun }: ProveOptions): Promise<void> {
  const { rows } = await sql<NumberedRun>`
    select list, position, run_id as "runId", content_hash as "contentHash", bytes
      from proof_run
     where position > 0
     order by list, position
  `.execute(tx)
  let last: NumberedRun | undefined
  for (const run of rows) {
    signal.throwIfAborted()
    const isSame = last?.list === run.list && last.contentHash === run.contentHash
    if (isSame || (await readList(tx, scrub, run))) {
      last = run
      await sql`update proof_run set known = true where run_id = ${run.runId}`.execute(tx)
    }
    onRun?.({ list: run.list, runs: run.position })
  }
  await sql`analyze proof_listed, proof_run`.execute(tx)
}

/** Ends the spans of what a list lacks and begins those of what it newly shows. Returns false if it cannot be read. */
async function readList(tx: Tx, scrub: Scrub, run: NumberedRun): Promise<boolean> {
  const { list, position } = run
  const fetched = listOfRun(run)
  if (!(await isReadable(tx, fetched))) return false
  await stageSnapshot(tx, scrub, readSlices(tx, { list, fetched }))
  const shown = sql`(
    select ${list === 'routes' ? 'route' : 'availability'} as kind, departure_id as a, destination_id as b
      from staged_route
    union all
    select 'place', place_id, jsonb_build_object('iata', iata, 'city', city, 'country', country)::text
      from staged_place
     where ${list} = 'routes')`
  await sql`
    update proof_listed l
       set until = ${position}
     where l.list = ${list} and l.until is null
       and not exists (select from ${shown} s where (s.kind, s.a, s.b) = (l.kind, l.a, l.b))
  `.execute(tx)
  await sql`
    insert into proof_listed (list, kind, a, b, first)
    select ${list}, s.kind, s.a, s.b, ${position}::integer
      from ${shown} s
     where not exists (select from proof_listed l
                        where l.list = ${list} and l.until is null and (l.kind, l.a, l.b) = (s.kind, s.a, s.b))
  `.execute(tx)
  if (position === 1) await sql`analyze proof_listed`.execute(tx)
  await sql`drop table staged_route, staged_place`.execute(tx)
  return true
}

async function findCompared(tx: Tx): Promise<readonly ProvedList[]> {
  const { rows } = await sql<ProvedList>`
    select list, min(at) filter (where known) as since, max(at) filter (where known) as until,
           count(*) as runs, count(*) filter (where known) as compared
      from proof_run
     where position > 0
     group by list
    having bool_or(known)
     order by list
  `.execute(tx)
  if (rows[0]?.list === 'routes') return rows
  throw new CannotProveError('no accepted list of the routes is kept')
}

interface Counted extends Difference {
  /** How many there are of its kind. */
  readonly total: number
}

/** Loads the views of the kinds of differences, and reads each. */
async function findDifferences(
  tx: Tx,
  { signal, most = null }: ProveOptions,
): Promise<readonly Counted[]> {
  await sql.raw(await readFile(DIFFERENCES, 'utf8')).execute(tx)
  const kinds = await sql<{ kind: string }>`
    select relname as kind
      from pg_class
     where relnamespace = pg_my_temp_schema() and relkind = 'v' and relname not like 'proof%'
     order by oid
  `.execute(tx)
  const found: Counted[] = []
  for (const { kind } of kinds.rows) {
    signal.throwIfAborted()
    const { rows } = await sql<Counted>`
      select ${kind} as kind, run_id as "runId", at, subject, field, expected, stored, count(*) over () as total
        from ${sql.table(kind)}
       order by at, subject::text, field
       limit ${most}
    `.execute(tx)
    found.push(...rows)
  }
  return found
}

function resultOf(
  lists: readonly ProvedList[],
  floor: Date | null,
  found: readonly Counted[],
): ProofResult {
  const timeOf = ({ at }: Difference) => at?.getTime() ?? Number.MAX_VALUE
  const kinds = Object.fromEntries(found.map(({ kind, total }) => [kind, total]))
  const all = found
    .toSorted((a, b) => timeOf(a) - timeOf(b))
    .map(({ total: _, ...difference }) => difference)
  return {
    equal: all.length === 0,
    lists,
    floor,
    differences: Object.values(kinds).reduce((sum, count) => sum + count, 0),
    kinds,
    first: all[0] ?? null,
    all,
  }
}
