import type { RouteListName } from '../../platform/base/kinds.ts'
import type { Scrub } from '../../platform/base/secrets.ts'
import { type Db, sql, type Tx } from '../../platform/db/database.ts'
import { HISTORY_FLOOR } from '../../platform/db/history-floor.ts'
import { inTransaction } from '../../platform/db/transaction.ts'
import { stageSnapshot } from '../plan/stage-snapshot.ts'
import { SnapshotDamagedError, SnapshotNotKeptError } from '../runs/sync-errors.ts'
import { ACCEPTED } from '../runs/sync-run-queries.ts'
import { type FetchedList, listOfRun, readSlices } from '../snapshots/fetched-list.ts'
import { type PlaceRun, recordPlaces, repeatPlaces, type Step } from './replay-places.ts'

export interface ListDeps {
  readonly db: Db
  readonly scrub: Scrub
  /** The setting, for runs that did not record theirs. */
  readonly confirmations: number
}

/**
 * Numbers the accepted runs of each list in the order of their valid times, from the oldest one whose list is kept, and
 * not from before the floor of the histories. A run
 * that released a review counts as several lists.
 */
export async function numberRuns(db: Db, { confirmations }: Pick<ListDeps, 'confirmations'>) {
  await sql`
    insert into farewatch_replay.run
           (list, position, run_id, valid_at, arrived_at, content_hash, bytes, baseline, confirmations, place_confirmations, lists, compared_hash, compared_bytes)
    select r.list, row_number() over (partition by r.list order by r.fetched_at), r.id, r.fetched_at,
           date_trunc('milliseconds', coalesce(r.arrived_at, r.fetched_at)), r.content_hash, r.bytes, r.baseline,
           coalesce(r.confirmations, case r.status when 'approved' then 1 else ${confirmations}::integer end),
           case when r.pending_places is null then 1 else coalesce(r.confirmations, 1) end,
           1 + agreed.lists, c.content_hash, c.bytes
      from sync_run r
      cross join lateral (
           select count(*) filter (where h.id > coalesce((select max(o.id) from sync_run o
                                                           where o.list = r.list and o.review_id <> r.review_id and o.id < r.id), 0))
                  as lists, min(h.id) as first
             from sync_run h
            where r.reason_code = 'agreed' and h.resolved_by = r.id and h.resolution = 'agreed' and h.review_id = r.review_id) agreed
      left join sync_run c
             on c.id = agreed.first
            and not exists (select from sync_run same
                             where same.review_id = r.review_id and same.id < r.id and same.content_hash = r.content_hash)
     where r.status in ${ACCEPTED}
       and r.fetched_at >= coalesce(${HISTORY_FLOOR}, '-infinity')
       and r.fetched_at >= (select min(o.fetched_at)
                              from sync_run o
                              join snapshot s on s.content_hash = o.content_hash
                             where o.list = r.list and o.status in ${ACCEPTED})
  `.execute(db)
}

interface NumberedRun extends PlaceRun {
  readonly runId: number
  readonly contentHash: string
  readonly bytes: number
  readonly baseline: boolean
  readonly comparedBytes: number | null
}

/** Reads the kept lists one after the other and records what each holds. Runs whose list is not kept stay unknown. */
export async function readLists(
  deps: ListDeps,
  list: RouteListName,
  { signal, onRun }: { readonly signal: AbortSignal; readonly onRun: (done: number) => void },
): Promise<void> {
  let last: NumberedRun | undefined
  for (const run of await findNumbered(deps.db, list)) {
    signal.throwIfAborted()
    const follows = last !== undefined && last.position === run.position - 1
    if (follows && last?.contentHash === run.contentHash && run.comparedHash === null) {
      if (list === 'routes') await inTransaction(deps.db, (tx) => repeatPlaces(tx, run))
      await markKnown(deps.db, list, run.position)
      last = run
    } else if (await readList(deps, list, { run, last, follows })) last = run
    onRun(run.position)
  }
}

async function findNumbered(db: Db, list: RouteListName): Promise<NumberedRun[]> {
  const { rows } = await sql<NumberedRun>`
    select position, run_id as "runId", valid_at as "validAt", content_hash as "contentHash", bytes, baseline,
           place_confirmations as "placeConfirmations", lists,
           compared_hash as "comparedHash", compared_bytes as "comparedBytes"
      from farewatch_replay.run
     where list = ${list}
     order by position
  `.execute(db)
  return rows
}

async function markKnown(db: Db, list: RouteListName, position: number): Promise<void> {
  await sql`
    update farewatch_replay.run set known = true where list = ${list} and position = ${position}
  `.execute(db)
}

/** Records one list. Returns false if it, or the list that it was compared with, cannot be read. */
async function readList(
  deps: ListDeps,
  list: RouteListName,
  step: Step<NumberedRun>,
): Promise<boolean> {
  const { position, comparedHash, comparedBytes } = step.run
  const fetched = await findKept(deps.db, step.run)
  const compared =
    comparedHash === null
      ? null
      : await findKept(deps.db, { ...step.run, contentHash: comparedHash, bytes: comparedBytes })
  if (fetched === undefined || compared === undefined) return false
  await inTransaction(deps.db, async (tx) => {
    await sql`set local statement_timeout = '15min'`.execute(tx)
    await sql`set local work_mem = '64MB'`.execute(tx)
    await stageSnapshot(tx, deps.scrub, readSlices(tx, { list, fetched }))
    await recordPresence(tx, list, position)
    if (compared !== null) {
      await stageSnapshot(tx, deps.scrub, readSlices(tx, { list, fetched: compared }), 'compared')
      await recordSingleAbsences(tx, list, position)
    }
    if (list === 'routes') await recordPlaces(tx, step)
    await markKnown(tx, list, position)
  })
  if (step.last === undefined) await sql`analyze farewatch_replay.presence`.execute(deps.db)
  return true
}

async function findKept(
  db: Db,
  run: Pick<NumberedRun, 'runId' | 'contentHash'> & { readonly bytes: number | null },
): Promise<FetchedList | undefined> {
  const kept = listOfRun(run)
  try {
    await kept.chunks(db)
    return kept
  } catch (err) {
    if (err instanceof SnapshotNotKeptError || err instanceof SnapshotDamagedError) return undefined
    throw err
  }
}

async function recordPresence(tx: Tx, list: RouteListName, position: number): Promise<void> {
  await sql`
    update farewatch_replay.presence p
       set until = ${position}
     where p.list = ${list} and p.until is null
       and not exists (select from staged_route s
                        where (s.departure_id, s.destination_id) = (p.departure_id, p.destination_id))
  `.execute(tx)
  await sql`
    insert into farewatch_replay.presence (list, departure_id, destination_id, first)
    select ${list}, s.departure_id, s.destination_id, ${position}::integer
      from staged_route s
     where not exists (select from farewatch_replay.presence p
                        where p.list = ${list} and p.until is null
                          and (p.departure_id, p.destination_id) = (s.departure_id, s.destination_id))
  `.execute(tx)
}

/** A route that the compared list still held was absent from the last of the agreeing lists alone. */
async function recordSingleAbsences(tx: Tx, list: RouteListName, position: number): Promise<void> {
  await sql`
    insert into farewatch_replay.single_absence
    select ${list}, ${position}::integer, c.departure_id, c.destination_id
      from compared_route c
     where not exists (select from staged_route s
                        where (s.departure_id, s.destination_id) = (c.departure_id, c.destination_id))
  `.execute(tx)
}
