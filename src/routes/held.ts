import type { Clock } from '../platform/base/clock.ts'
import type { RouteListName } from '../platform/base/kinds.ts'
import type { Scrub } from '../platform/base/secrets.ts'
import { type Db, sql, type Tx } from '../platform/db/database.ts'
import { withSessionLock } from '../platform/db/session-lock.ts'
import { inTransaction, selectOne } from '../platform/db/transaction.ts'
import { beginApply, planSnapshot, type SnapshotPlan, type SyncDeps } from './diff.ts'
import { NotHeldError, RunNotFoundError } from './errors.ts'
import { type GuardLimits, type SnapshotEffect, suspicionOf } from './guard.ts'
import {
  createStagingTables,
  type FetchedList,
  isReadable,
  listOfRun,
  readSlices,
  stageSnapshot,
} from './list.ts'
import {
  assignValidTime,
  closeRun,
  createStopwatch,
  dropHeldRun,
  findFinishedRun,
  findLastAccepted,
  LIST_WAIT_MS,
  listBusyError,
  listLock,
  type SyncOutcome,
  type SyncReason,
  selectFinished,
  WRITTEN_NOW,
} from './runs.ts'
import { touchSnapshot } from './snapshots.ts'

/**
 * The suspicious list of a kind that is held, or that an operator has rejected. There is at most one of each kind:
 * another suspicious list takes its place, and a list that is accepted ends it.
 */
export interface HeldList {
  /** The first of the agreeing lists. Later ones are compared with it, so they cannot drift. */
  readonly firstRunId: number
  readonly since: Date
  /** Lists in a row that agree. */
  readonly lists: number
  /** When an operator rejected it last. It is remembered until another suspicious list takes its place. */
  readonly rejectedAt: Date | null
}

function selectHeldList(db: Db, list: RouteListName) {
  return db
    .selectFrom('held_list as h')
    .innerJoin('sync_run as first', 'first.id', 'h.first_run_id')
    .select([
      'h.first_run_id as firstRunId',
      'first.fetched_at as since',
      'h.lists',
      'h.rejected_at as rejectedAt',
    ])
    .where('h.list', '=', list)
    .$narrowType<{ since: Date }>()
}

/** What becomes of a list. */
export interface Judgement {
  readonly isHeld: boolean
  /** Why it is held, or why it is accepted although it is suspicious; null if it is not. */
  readonly reason: SyncReason | null
  /** The held list that it agrees with. */
  readonly agreed: HeldList | null
  /** Agreeing lists in a row, this one included. */
  readonly lists: number
}

interface JudgedList {
  readonly list: RouteListName
  readonly fetched: FetchedList
  readonly fetchedAt: Date
  readonly plan: Pick<SnapshotPlan, 'isStaged' | 'effect'>
}

/**
 * Decides whether a list is accepted. A suspicious one is held, unless it completes enough agreeing lists. Leaves
 * `compared_route` and `compared_place` if it agrees with the held list: see `findAgreed`.
 */
export async function judgeSnapshot(
  tx: Tx,
  { guard, scrub }: Pick<SyncDeps, 'guard' | 'scrub'>,
  judged: JudgedList,
): Promise<Judgement> {
  const { plan, fetchedAt } = judged
  const suspicion = suspicionOf(plan.effect, guard)
  if (suspicion === null) return { isHeld: false, reason: null, agreed: null, lists: 1 }
  const agreed = await findAgreed(tx, { ...judged, scrub, agreementShare: guard.agreementShare })
  if (agreed === null) return { isHeld: true, reason: suspicion, agreed, lists: 1 }
  const lists = agreed.lists + 1
  const released = releaseOf({ ...agreed, lists }, { fetchedAt, suspicion, ...plan }, guard)
  return { isHeld: released === null, reason: released ?? suspicion, agreed, lists }
}

interface ComparedList extends JudgedList {
  readonly scrub: Scrub
  readonly agreementShare: number
}

/**
 * The held list, if a suspicious one has its bytes or about its routes. Leaves the routes and places of the held list
 * as `compared_route` and `compared_place`, or no rows if the bytes are the same.
 */
async function findAgreed(tx: Tx, compared: ComparedList): Promise<HeldList | null> {
  const { list, fetched, plan, scrub, agreementShare } = compared
  const found = await selectHeldList(tx, list)
    .select(['first.id as runId', 'first.content_hash as contentHash', 'first.bytes'])
    .executeTakeFirst()
  if (found === undefined) return null
  const { runId, contentHash, bytes, ...held } = found
  if (contentHash === fetched.contentHash) {
    await createStagingTables(tx, 'compared')
    return held
  }
  const first = listOfRun({ runId, contentHash, bytes })
  // It is no fault of the list that is compared.
  if (!(await isReadable(tx, first))) return null
  if (!plan.isStaged) await stageSnapshot(tx, scrub, readSlices(tx, { list, fetched }))
  await stageSnapshot(tx, scrub, readSlices(tx, { list, fetched: first }), 'compared')
  return (await differingShare(tx)) <= agreementShare ? held : null
}

/** Routes that only one of the two lists has, as a share of the larger list; 0 for two empty lists. */
async function differingShare(tx: Tx): Promise<number> {
  const { both, held, fetched } = await selectOne(
    sql<{ both: number; held: number; fetched: number }>`
      select (select count(*) from staged_route join compared_route using (departure_id, destination_id)) as both,
             (select count(*) from compared_route) as held,
             (select count(*) from staged_route) as fetched
    `,
    tx,
  )
  return (held + fetched - 2 * both) / Math.max(1, held, fetched)
}

interface AgreeingList {
  readonly fetchedAt: Date
  readonly suspicion: SyncReason
  readonly effect: Pick<SnapshotEffect, 'missing' | 'live'>
}

const HOUR_MS = 3_600_000

/**
 * Returns why a suspicious list is accepted nevertheless: an accident does not repeat unchanged for a day. Returns null
 * if the list stays held: too few lists agree, they span too few hours, the list is empty or lacks so many routes that
 * a mistake would cost too much, or an operator has rejected it.
 */
export function releaseOf(
  { firstRunId, since, lists, rejectedAt }: HeldList,
  { fetchedAt, suspicion, effect }: AgreeingList,
  limits: GuardLimits,
): SyncReason | null {
  const spanMs = fetchedAt.getTime() - since.getTime()
  if (rejectedAt !== null || suspicion.code === 'empty') return null
  if (effect.missing > limits.releaseLostShare * effect.live) return null
  if (lists < limits.releaseLists || spanMs < limits.releaseHours * HOUR_MS) return null
  const hours = Math.floor(spanMs / HOUR_MS)
  return {
    code: 'agreed',
    text: `${lists} lists over ${hours} hours agree, the first of run ${firstRunId}; held because ${suspicion.text}`,
  }
}

/** Makes the list of a run the held one of its kind: one more that agrees, or the first. */
export async function recordHeldList(
  tx: Tx,
  { runId, list }: { readonly runId: number; readonly list: RouteListName },
  { agreed, lists }: Judgement,
): Promise<void> {
  await dropHeldRun(tx, { list, resolution: 'superseded', resolvedBy: runId })
  const held = { first_run_id: agreed?.firstRunId ?? runId, lists }
  const state = { ...held, rejected_at: agreed?.rejectedAt ?? null }
  await tx
    .insertInto('held_list')
    .values({ list, ...state })
    .onConflict((conflict) => conflict.column('list').doUpdateSet(state))
    .execute()
}

/** Ends the held list when a list of its kind is accepted. A normal list does not undo the decision of an operator. */
export async function endHeldList(
  tx: Tx,
  { runId, list }: { readonly runId: number; readonly list: RouteListName },
  { agreed }: Pick<Judgement, 'agreed'>,
): Promise<void> {
  const resolution = agreed === null ? 'normal_list' : 'agreed'
  await dropHeldRun(tx, { list, resolution, resolvedBy: runId })
  await tx
    .deleteFrom('held_list')
    .where('list', '=', list)
    .$if(agreed === null, (held) => held.where('rejected_at', 'is', null))
    .execute()
}

type DecideDeps = Pick<SyncDeps, 'db' | 'scrub' | 'onProgress'> & { readonly clock: Clock }

/** An approved list confirms absences at once: an operator has reviewed them. */
const CONFIRMATIONS = 1
const POLL_MS = 250

/** The held runs, at most one of each list, the oldest first, with the lists that agree. */
export async function listHeldRuns(db: Db) {
  const ofList = sql`held_list h join sync_run f on f.id = h.first_run_id where h.list = sync_run.list`
  return selectFinished(db)
    .select([
      sql<number>`(select h.lists from ${ofList})`.as('lists'),
      sql<Date>`(select f.fetched_at from ${ofList})`.as('since'),
      sql<Date | null>`(select h.rejected_at from ${ofList})`.as('rejectedAt'),
    ])
    .where('status', '=', 'held')
    .orderBy('id')
    .execute()
}

export type HeldRun = Awaited<ReturnType<typeof listHeldRuns>>[number]

/** The held run; throws RunNotFoundError, NotHeldError. */
export async function findHeldRun(db: Db, runId: number): Promise<HeldRun> {
  const held = (await listHeldRuns(db)).find((run) => run.runId === runId)
  if (held !== undefined) return held
  const run = await findFinishedRun(db, runId)
  throw run === undefined ? new RunNotFoundError(runId) : new NotHeldError(runId, run.status)
}

/**
 * Applies the held list as it was fetched, with the moment of the approval as its valid time: what was published about
 * the time before stays true. Routes that it lacks are removed at once.
 *
 * One transaction under the lock of the list: if the process dies, the run stays held. Throws RunNotFoundError,
 * NotHeldError, SnapshotNotKeptError, SnapshotDamagedError.
 */
export async function approveRun(
  deps: DecideDeps,
  runId: number,
  signal: AbortSignal,
): Promise<SyncOutcome> {
  const { list } = await findHeldRun(deps.db, runId)
  return whenListIsFree(deps, { list, signal }, async (session) => {
    const fetched = listOfRun(await findHeldRun(session, runId))
    // A list of a million routes takes seconds to load: not while the transaction holds its locks.
    await fetched.chunks(session)
    return inTransaction(session, async (tx) => {
      await beginApply(tx)
      return applyHeld(tx, deps, { runId, fetched })
    })
  })
}

async function applyHeld(
  tx: Tx,
  deps: DecideDeps,
  { runId, fetched }: { readonly runId: number; readonly fetched: FetchedList },
): Promise<SyncOutcome> {
  const stopwatch = createStopwatch()
  const { list, reason } = await findHeldRun(tx, runId)
  const previous = await findLastAccepted(tx, list)
  const instants = await assignValidTime(tx, runId, sql`clock_timestamp()`)
  const args = { list, fetched, previous, stopwatch, confirmations: CONFIRMATIONS, ...instants }
  const plan = await planSnapshot(tx, deps, args)
  const previousAt = previous?.arrivedAt ?? null
  const counts = await stopwatch.time('apply', () =>
    plan.apply({ ...args, runId, previousAt, lists: 1 }),
  )
  await tx.deleteFrom('held_list').where('list', '=', list).execute()
  await tx
    .updateTable('sync_run')
    .set({ ...WRITTEN_NOW, resolution: 'approved', resolved_at: sql`clock_timestamp()` })
    .where('id', '=', runId)
    .execute()
  await touchSnapshot(tx, fetched.contentHash)
  return closeRun(tx, {
    runId,
    list,
    status: 'approved',
    baseline: previous === null,
    reason,
    confirmations: CONFIRMATIONS,
    counts: { ...plan.staged, ...counts },
    durationsMs: stopwatch.durations(),
  })
}

/**
 * Drops the held run, under the list's lock; nothing else changes. A list that agrees with it is held without a new
 * alert, and only an operator can approve it. Throws RunNotFoundError, NotHeldError.
 */
export async function rejectRun(
  deps: Pick<DecideDeps, 'db' | 'clock'>,
  runId: number,
  signal: AbortSignal,
): Promise<void> {
  const { list } = await findHeldRun(deps.db, runId)
  await whenListIsFree(deps, { list, signal }, (session) =>
    inTransaction(session, async (tx) => {
      await findHeldRun(tx, runId)
      await dropHeldRun(tx, { list, resolution: 'rejected', resolvedBy: null })
      const rejected = { rejected_at: sql<Date>`clock_timestamp()` }
      return tx.updateTable('held_list').set(rejected).where('list', '=', list).execute()
    }),
  )
}

/**
 * Runs `work` once no other session holds the list's lock. Throws the signal's reason if it aborts before, and
 * ListBusyError if the lock is held for too long.
 */
async function whenListIsFree<T extends object>(
  { db, clock }: Pick<DecideDeps, 'db' | 'clock'>,
  { list, signal }: { readonly list: RouteListName; readonly signal: AbortSignal },
  work: (session: Db) => Promise<T>,
): Promise<T> {
  const givesUpAt = clock.now().getTime() + LIST_WAIT_MS
  for (;;) {
    const done = await withSessionLock(db, listLock(list), work)
    if (done !== undefined) return done
    if (clock.now().getTime() >= givesUpAt) throw await listBusyError(db, list)
    await clock.sleep(POLL_MS, signal)
  }
}
