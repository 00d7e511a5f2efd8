import { appendDraftedRouteChanges, draftRouteChanges } from '../feeds/append-records.ts'
import type { RouteListName } from '../platform/base/kinds.ts'
import { type RawBuilder, sql, type Tx } from '../platform/db/database.ts'
import { takeTransactionLock } from '../platform/db/session-lock.ts'
import { affected, selectOne } from '../platform/db/transaction.ts'
import {
  type ApplyArgs,
  advanceAbsences,
  closeAvailability,
  countLosses,
  countPendingAbsences,
  deleteConfirmed,
  deleteReturned,
  LIVE,
  type ListArgs,
  type Losses,
  readLossHistory,
} from './absences.ts'
import type { GuardLimits, SnapshotDiff, SnapshotEffect } from './guard.ts'
import {
  type FetchDeps,
  type FetchedList,
  readSlices,
  type StagedSnapshot,
  stageSnapshot,
} from './list.ts'
import { describeRoutes, notifyResellers } from './notify-resellers.ts'
import {
  advancePlaces,
  applyPlaces,
  comparePlaces,
  countPendingPlaces,
  countPlaces,
  draftsOfPlaces,
  repeatPlaces,
} from './places.ts'
import { type AcceptedRun, routesChangedSince, type Stopwatch, type SyncCounts } from './runs.ts'

export interface SyncDeps extends FetchDeps {
  /** Accepted lists in a row that must lack a route before it is removed. */
  readonly confirmations: number
  readonly guard: GuardLimits
}

/** What a list would change, and the function that applies it. */
export interface SnapshotPlan {
  readonly staged: StagedSnapshot
  /** Whether `staged_route` holds the list: the last accepted list is not staged again. */
  readonly isStaged: boolean
  readonly effect: SnapshotEffect
  readonly forecast: Forecast
  apply(args: ApplyArgs): Promise<Partial<SyncCounts>>
}

/** What a run would count if it applied the list. */
export type Forecast = Pick<SyncCounts, 'unknownPairs'> &
  Readonly<
    Record<
      'live' | 'added' | 'removed' | 'pendingAbsences' | 'placesChanged' | 'gained' | 'lost',
      number
    >
  >

export interface PlanArgs extends Pick<ApplyArgs, 'confirmations'> {
  readonly list: RouteListName
  readonly fetched: FetchedList
  /** The last accepted run of the list; null for a baseline. */
  readonly previous: AcceptedRun | null
  /** When the list arrived. Null if it has just arrived. */
  readonly arrivedAt: Date | null
  readonly stopwatch: Stopwatch
  /** Stages the list even if it is the last accepted one again. */
  readonly alwaysStage?: boolean
}

/** One transaction may rewrite a million routes; the pool's limit is meant for queries. */
const APPLY_TIMEOUT = '15min'
/**
 * The hash of a million routes takes 49 MB, and Postgres lets a hash use twice this setting. With the default the
 * comparison sorts on disk and takes 1.2 s instead of 0.7. The lock lets one transaction at a time use so much.
 */
const APPLY_WORK_MEM = '64MB'

/** The other list is applied within seconds, a million routes within a minute. */
const STATE_WAIT_MS = 120_000

/** Prepares the caller's transaction to apply a list. Both lists read and write the same state, so one waits. */
export async function beginApply(tx: Tx): Promise<void> {
  await sql`set local statement_timeout = ${sql.lit(APPLY_TIMEOUT)}`.execute(tx)
  await sql`set local work_mem = ${sql.lit(APPLY_WORK_MEM)}`.execute(tx)
  await takeTransactionLock(tx, 'route-state', STATE_WAIT_MS)
}

/** Stages a list and compares it with what holds now, in temporary tables of the caller's transaction. */
export async function planSnapshot(
  tx: Tx,
  { scrub, onProgress }: Pick<FetchDeps, 'scrub' | 'onProgress'>,
  args: PlanArgs,
): Promise<SnapshotPlan> {
  const { list, fetched, previous, stopwatch } = args
  const unchanged =
    args.alwaysStage !== true && previous !== null && (await isUnchanged(tx, { ...args, previous }))
  const onRoutes = (count: number) => onProgress?.({ bytes: fetched.bytes, routes: count })
  const {
    fetched: routes,
    duplicates,
    conflictingPlaces,
  } = unchanged
    ? previous
    : await stopwatch.time('stage', () =>
        stageSnapshot(tx, scrub, readSlices(tx, { list, fetched }, onRoutes)),
      )
  const isStaged = !unchanged
  const diff = await stopwatch.time('diff', () => diffList(tx, { ...args, isStaged }))
  return {
    staged: { fetched: routes, duplicates, conflictingPlaces },
    isStaged,
    effect: {
      ...diff,
      removed: diff.removed + diff.lost,
      history: await readLossHistory(tx, list),
      baseline: previous === null,
      repeated: previous?.contentHash === fetched.contentHash,
      // A list of unknown pairs alone says as little as an empty one.
      listed: routes - duplicates - (diff.unknownPairs ?? 0),
    },
    forecast: forecastOf(diff),
    apply: (applyArgs) => applyDiff(tx, { list, diff }, applyArgs),
  }
}

/** Whether the list has the last accepted bytes and means the same. */
async function isUnchanged(
  tx: Tx,
  { list, fetched, previous }: PlanArgs & { readonly previous: AcceptedRun },
): Promise<boolean> {
  if (previous.contentHash !== fetched.contentHash) return false
  return !(LISTS[list].readsRoutes && (await routesChangedSince(tx, previous.arrivedAt)))
}

function forecastOf(diff: SnapshotDiff): Forecast {
  const { unknownPairs, live, added, removed, missing, placesChanged, gained, lost } = diff
  return {
    unknownPairs,
    live: live + added + gained - removed - lost,
    added,
    removed,
    pendingAbsences: missing - removed - lost,
    placesChanged,
    gained,
    lost,
  }
}

interface DiffArgs extends Pick<PlanArgs, 'confirmations' | 'arrivedAt'> {
  readonly isStaged: boolean
}

type AppliedCounts = Readonly<
  Record<'added' | 'removed' | 'placesChanged' | 'gained' | 'lost', number>
>

/** What differs between the two kinds of lists. */
interface ListKind {
  /** Whether the same bytes mean something else once routes were added or removed. */
  readonly readsRoutes: boolean
  /** The tables that a baseline fills. */
  readonly tables: RawBuilder<unknown>
  /** Fills `snapshot_added` from `snapshot_difference`, and what else the kind compares. */
  compare(tx: Tx, args: DiffArgs): Promise<void>
  /** The same for the last accepted list, which adds nothing. */
  repeat(tx: Tx): Promise<void>
  /** What only this kind counts. `confirmed` routes are no longer live (or available) with the list. */
  count(tx: Tx, args: DiffArgs, confirmed: number): Promise<KindCounts>
  /** Counts the lists that give places other attributes. */
  advance(tx: Tx, args: ApplyArgs): Promise<void>
  /** Selects the changes that applying records, while the state still shows what held before. */
  drafts(args: ApplyArgs): RawBuilder<unknown>
  apply(tx: Tx, args: ApplyArgs): Promise<AppliedCounts>
  countPendingPlaces(tx: Tx): Promise<number>
}

type KindCounts = Omit<SnapshotDiff, keyof Losses | 'live'>

const NO_PLACES = { knownPlaces: 0, newlyEdited: 0, placesChanged: 0, renumbered: 0 }

const LISTS: Readonly<Record<RouteListName, ListKind>> = {
  routes: {
    readsRoutes: false,
    tables: sql`route_version, place_version`,
    async compare(tx) {
      await sql`
        create temp table snapshot_added on commit drop as
        select departure_id, destination_id from snapshot_difference where listed
      `.execute(tx)
      await comparePlaces(tx)
    },
    async repeat(tx) {
      await sql`
        create temp table snapshot_added (departure_id text, destination_id text) on commit drop
      `.execute(tx)
      await repeatPlaces(tx)
    },
    count: countRoutes,
    advance: advancePlaces,
    drafts: draftsOfRoutes,
    apply: applyRoutes,
    countPendingPlaces,
  },
  'with-availability': {
    readsRoutes: true,
    tables: sql`route_availability_version`,
    compare: compareAvailability,
    async repeat(tx) {
      await sql`
        create temp table snapshot_added (departure_id text, destination_id text, before boolean) on commit drop
      `.execute(tx)
      await sql`
        create temp table snapshot_unlisted (departure_id text, destination_id text) on commit drop
      `.execute(tx)
    },
    count: countAvailability,
    advance: async () => undefined,
    drafts: draftsOfAvailability,
    apply: applyAvailability,
    countPendingPlaces: async () => 0,
  },
}

/**
 * Compares a list with what is live (or available): fills `snapshot_missing` and `snapshot_added`.
 *
 * One full join finds both sides: 0.7 s for a million routes, where two anti-joins take 1.2 s. The last accepted list
 * again lacks exactly the routes with a pending absence.
 */
export async function diffList(
  tx: Tx,
  args: DiffArgs & { readonly list: RouteListName },
): Promise<SnapshotDiff> {
  const { list, isStaged, confirmations } = args
  const kind = LISTS[list]
  if (isStaged) await compareList(tx, list)
  const missing = isStaged
    ? sql`snapshot_difference where not listed`
    : sql`pending_absence where list = ${sql.lit(list)}`
  await sql`
    create temp table snapshot_missing on commit drop as select departure_id, destination_id from ${missing}
  `.execute(tx)
  await (isStaged ? kind.compare(tx, args) : kind.repeat(tx))
  const { confirmed, ...losses } = await countLosses(tx, list, confirmations)
  const { live } = await selectOne(
    sql<{ live: number }>`select count(*) as live from ${LIVE[list]} l`,
    tx,
  )
  return { live, ...losses, ...(await kind.count(tx, args, confirmed)) }
}

async function compareList(tx: Tx, list: RouteListName): Promise<void> {
  await sql`
    create temp table snapshot_difference on commit drop as
    select coalesce(s.departure_id, r.departure_id) as departure_id,
           coalesce(s.destination_id, r.destination_id) as destination_id,
           s.departure_id is not null as listed
      from staged_route s
      full join ${LIVE[list]} r
        on (s.departure_id, s.destination_id) = (r.departure_id, r.destination_id)
     where s.departure_id is null or r.departure_id is null
  `.execute(tx)
  await sql`analyze snapshot_difference`.execute(tx)
}

/**
 * `snapshot_added` has the routes that become available, and `snapshot_unlisted` the live ones whose availability is
 * unknown and that the list lacks. Only the few pairs of the difference are looked up among the routes: at a million
 * routes this takes a third of the time of joining all live routes with their availability and the list.
 */
async function compareAvailability(tx: Tx, { arrivedAt }: DiffArgs): Promise<void> {
  await sql`
    create temp table snapshot_added on commit drop as
    select d.departure_id, d.destination_id, v.available as before
      from snapshot_difference d
      join route_version r
        on (r.departure_id, r.destination_id) = (d.departure_id, d.destination_id) and r.valid_to is null
      left join route_availability_version v
             on (v.departure_id, v.destination_id) = (d.departure_id, d.destination_id) and v.valid_to is null
     where d.listed
  `.execute(tx)
  // A list says nothing about a route that was added after the list had arrived.
  await sql`
    create temp table snapshot_unlisted on commit drop as
    select r.departure_id, r.destination_id
      from route_version r
     where r.valid_to is null
       and r.valid_from <= coalesce(${arrivedAt}::timestamptz, 'infinity')
       and not exists (select from route_availability_version v
                        where (v.departure_id, v.destination_id) = (r.departure_id, r.destination_id)
                          and v.valid_to is null)
       and not exists (select from snapshot_difference d
                        where d.listed and (d.departure_id, d.destination_id) = (r.departure_id, r.destination_id))
  `.execute(tx)
}

async function countRoutes(
  tx: Tx,
  { confirmations }: DiffArgs,
  removed: number,
): Promise<KindCounts> {
  const counts = await selectOne(
    sql<{ added: number; readded: number }>`
      select count(*) as added,
             count(*) filter (where exists (
               select from route_version r
                where (r.departure_id, r.destination_id) = (s.departure_id, s.destination_id)
                  and r.removed_by in (select id from sync_run
                                        where finished_at > clock_timestamp() - interval '24 hours'))) as readded
        from snapshot_added s
    `,
    tx,
  )
  const places = await countPlaces(tx, confirmations)
  return { ...counts, ...places, removed, gained: 0, lost: 0, unknownPairs: null }
}

/** A listed route that is available is live, so every unknown pair is among the differences. */
async function countAvailability(
  tx: Tx,
  { isStaged }: DiffArgs,
  lost: number,
): Promise<KindCounts> {
  const listed = isStaged
    ? sql`(select count(*) from snapshot_difference where listed)`
    : sql`null::bigint`
  const counts = await selectOne(
    sql<{ gained: number; unknownPairs: number | null }>`
      select count(*) as gained, ${listed} - count(*) as "unknownPairs" from snapshot_added
    `,
    tx,
  )
  return { ...counts, ...NO_PLACES, added: 0, readded: 0, removed: 0, lost }
}

/** Writes absences, history and changes, in the caller's transaction. */
async function applyDiff(
  tx: Tx,
  { list, diff }: { readonly list: RouteListName; readonly diff: SnapshotDiff },
  args: ApplyArgs,
): Promise<Partial<SyncCounts>> {
  const kind = LISTS[list]
  const returned = await deleteReturned(tx, list)
  await advanceAbsences(tx, { ...args, list })
  await kind.advance(tx, args)
  const isBaseline = args.previousAt === null
  if (!isBaseline) await draftRouteChanges(tx, kind.drafts(args))
  const counts = await kind.apply(tx, args)
  await deleteConfirmed(tx, { ...args, list })
  // Until it is analyzed, Postgres plans queries as if a table that a baseline filled were empty.
  if (isBaseline) await sql`analyze ${kind.tables}`.execute(tx)
  else await recordChanges(tx, { ...args, list })
  const { added, gained, removed, lost } = counts
  return {
    ...counts,
    live: diff.live + added + gained - removed - lost,
    unknownPairs: diff.unknownPairs,
    returned,
    ...(await countPending(tx, list)),
  }
}

/** Records the drafted changes: for operators, and for the resellers that chose them. */
async function recordChanges(tx: Tx, args: ListArgs): Promise<void> {
  await describeRoutes(tx, args)
  if (await appendDraftedRouteChanges(tx, args.runId)) await notifyResellers(tx, args.runId)
}

/** Counts what accepted lists show and is not confirmed yet. */
export async function countPending(
  tx: Tx,
  list: RouteListName,
): Promise<{ readonly pendingAbsences: number; readonly pendingPlaces: number }> {
  return {
    pendingAbsences: await countPendingAbsences(tx, list),
    pendingPlaces: await LISTS[list].countPendingPlaces(tx),
  }
}

function draftsOfRoutes(args: ApplyArgs): RawBuilder<unknown> {
  const { arrivedAt, previousAt, confirmations } = args
  return sql`
    select 'route_added' as kind, departure_id, destination_id, null as place_id, null::jsonb as before,
           jsonb_build_object('available', null) as after,
           ${previousAt}::timestamptz as last_seen_at, ${arrivedAt}::timestamptz as first_missed_at
      from snapshot_added
    union all
    select 'route_removed', p.departure_id, p.destination_id, null,
           jsonb_build_object('available', v.available), null, p.last_seen_at, p.first_missed_at
      from pending_absence p
      left join route_availability_version v
             on (v.departure_id, v.destination_id) = (p.departure_id, p.destination_id) and v.valid_to is null
     where p.list = 'routes' and p.absences >= ${confirmations}
    union all
    ${draftsOfPlaces(confirmations)}
  `
}

/** Applies what was compared to the history of routes and places. */
async function applyRoutes(tx: Tx, args: ApplyArgs): Promise<AppliedCounts> {
  await deleteLossesOfRemoved(tx, args)
  // The availability of a route ends with the route.
  await closeAvailability(tx, { ...args, list: 'routes' })
  const removed = await closeRemoved(tx, args)
  const added = await openAdded(tx, args)
  const placesChanged = await applyPlaces(tx, args)
  return { added, removed, placesChanged, gained: 0, lost: 0 }
}
async function deleteLossesOfRemoved(tx: Tx, { confirmations }: ApplyArgs): Promise<void> {
  await sql`
    delete from pending_absence loss
     using pending_absence p
     where loss.list = 'with-availability'
       and p.list = 'routes' and p.absences >= ${confirmations}
       and (loss.departure_id, loss.destination_id) = (p.departure_id, p.destination_id)
  `.execute(tx)
}

async function closeRemoved(
  tx: Tx,
  { runId, fetchedAt, confirmations }: ApplyArgs,
): Promise<number> {
  return affected(
    sql`
      update route_version r
         set valid_to = ${fetchedAt}, removed_by = ${runId}, changed_at = clock_timestamp(), written_in = pg_current_xact_id(),
             last_seen_at = p.last_seen_at, first_missed_at = p.first_missed_at
        from pending_absence p
       where p.list = 'routes' and p.absences >= ${confirmations}
         and (r.departure_id, r.destination_id) = (p.departure_id, p.destination_id)
         and r.valid_to is null
    `,
    tx,
  )
}

async function openAdded(tx: Tx, { runId, fetchedAt }: ApplyArgs): Promise<number> {
  return affected(
    sql`
      insert into route_version (departure_id, destination_id, valid_from, added_by)
      select departure_id, destination_id, ${fetchedAt}::timestamptz, ${runId}::bigint from snapshot_added
    `,
    tx,
  )
}

function draftsOfAvailability({
  arrivedAt,
  previousAt,
  confirmations,
}: ApplyArgs): RawBuilder<unknown> {
  return sql`
    select 'route_gained_availability' as kind, departure_id, destination_id, null as place_id,
           jsonb_build_object('available', before) as before, jsonb_build_object('available', true) as after,
           ${previousAt}::timestamptz as last_seen_at, ${arrivedAt}::timestamptz as first_missed_at
      from snapshot_added
    union all
    select 'route_lost_availability', departure_id, destination_id, null,
           jsonb_build_object('available', true), jsonb_build_object('available', false),
           last_seen_at, first_missed_at
      from pending_absence
     where list = 'with-availability' and absences >= ${confirmations}
  `
}

/**
 * Applies what was compared to the history of availability: gains at once, losses once they are confirmed.
 *
 * A live route whose availability is unknown and that the list lacks becomes unavailable without a change record: a
 * route cannot lose what it was never known to have.
 */
async function applyAvailability(tx: Tx, args: ApplyArgs): Promise<AppliedCounts> {
  await closeUnavailable(tx, args)
  const lost = await closeAvailability(tx, { ...args, list: 'with-availability' })
  await openLostAndUnlisted(tx, args)
  const gained = await openGained(tx, args)
  return { added: 0, removed: 0, placesChanged: 0, gained, lost }
}

async function closeUnavailable(tx: Tx, { fetchedAt }: ApplyArgs): Promise<void> {
  await sql`
    update route_availability_version v
       set valid_to = ${fetchedAt}, written_in = pg_current_xact_id()
      from snapshot_added g
     where not g.before
       and (v.departure_id, v.destination_id) = (g.departure_id, g.destination_id)
       and v.valid_to is null
  `.execute(tx)
}

async function openLostAndUnlisted(tx: Tx, { fetchedAt, confirmations }: ApplyArgs): Promise<void> {
  await sql`
    insert into route_availability_version (departure_id, destination_id, available, valid_from)
    select departure_id, destination_id, false, ${fetchedAt}::timestamptz
      from pending_absence
     where list = 'with-availability' and absences >= ${confirmations}
    union all
    select departure_id, destination_id, false, ${fetchedAt}::timestamptz
      from snapshot_unlisted
  `.execute(tx)
}

async function openGained(tx: Tx, { fetchedAt }: ApplyArgs): Promise<number> {
  return affected(
    sql`
      insert into route_availability_version (departure_id, destination_id, available, valid_from)
      select departure_id, destination_id, true, ${fetchedAt}::timestamptz from snapshot_added
    `,
    tx,
  )
}
