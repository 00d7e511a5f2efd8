import type { RouteListName } from '../../platform/base/kinds.ts'
import type { Scrub } from '../../platform/base/secrets.ts'
import { sql, type Tx } from '../../platform/db/database.ts'
import { selectOne } from '../../platform/db/transaction.ts'
import { type GuardLimits, type SnapshotEffect, suspicionOf } from '../plan/guard.ts'
import type { SnapshotPlan, SyncDeps } from '../plan/plan-snapshot.ts'
import { createStagingTables, stageSnapshot } from '../plan/stage-snapshot.ts'
import type { SyncReason } from '../runs/sync-run.ts'
import { JOINABLE } from '../runs/sync-run-queries.ts'
import { type FetchedList, isReadable, listOfRun, readSlices } from '../snapshots/fetched-list.ts'

/** Each comparison reads a whole list, so a suspicious list is compared with the newest reviews alone. */
const COMPARED_REVIEWS = 3

interface MatchArgs {
  readonly list: RouteListName
  readonly fetched: FetchedList
  readonly plan: Pick<SnapshotPlan, 'staged' | 'isStaged' | 'effect'>
  readonly agreementShare: number
  readonly scrub: Scrub
}

/** The lists that a review holds. */
export interface ReviewState {
  readonly reviewId: number
  /** Held runs in order, since the last suspicious list of another review. */
  readonly heldRuns: readonly number[]
  /** When the list of the first of them arrived. */
  readonly heldSince: Date | null
  /** Whether an operator has rejected a list of the review. */
  readonly rejected: boolean
}

interface Candidate {
  readonly reviewId: number
  readonly runId: number
  readonly contentHash: string
  readonly bytes: number
}

/**
 * Finds the review whose lists agree with a suspicious one; undefined if there is none. The list is compared with the
 * first held list of each review, or with its first dropped one, so a review cannot drift.
 *
 * Leaves `compared_route`: the routes of that list if it has other bytes, else no rows.
 */
export async function matchReview(tx: Tx, args: MatchArgs): Promise<ReviewState | undefined> {
  const { list, fetched, plan, scrub } = args
  const same = await findSame(tx, args)
  if (same !== undefined) {
    // An empty one stands for the same bytes.
    await createStagingTables(tx, 'compared')
    return readReview(tx, list, same)
  }
  const candidates = await findCandidates(tx, args)
  if (candidates.length === 0) return undefined
  if (!plan.isStaged) await stageSnapshot(tx, scrub, readSlices(tx, { list, fetched }))
  for (const candidate of candidates) {
    const kept = listOfRun(candidate)
    // It is no fault of the list that is compared.
    if (!(await isReadable(tx, kept))) continue
    await stageSnapshot(tx, scrub, readSlices(tx, { list, fetched: kept }), 'compared')
    if ((await differingShare(tx)) <= args.agreementShare) {
      return readReview(tx, list, candidate.reviewId)
    }
    await sql`drop table compared_route, compared_place`.execute(tx)
  }
  return undefined
}

/**
 * The review of a list with the same bytes. The hash of a run identifies it, even after its stored list was
 * deleted.
 */
async function findSame(tx: Tx, { list, fetched }: MatchArgs): Promise<number | undefined> {
  const run = await tx
    .selectFrom('sync_run as r')
    .select('r.review_id as reviewId')
    .where('r.list', '=', list)
    .where('r.content_hash', '=', fetched.contentHash)
    .where(JOINABLE)
    .orderBy('r.review_id')
    .limit(1)
    .executeTakeFirst()
  return run?.reviewId ?? undefined
}

/** The newest reviews with their first kept list, if it has about as many routes. */
async function findCandidates(
  tx: Tx,
  { list, plan, agreementShare }: MatchArgs,
): Promise<Candidate[]> {
  const pairs = plan.staged.fetched - plan.staged.duplicates
  const { rows } = await sql<Candidate>`
    select "reviewId", "runId", "contentHash", bytes
      from (select distinct on (r.review_id)
                   r.review_id as "reviewId", r.id as "runId", r.content_hash as "contentHash", r.bytes,
                   r.fetched - r.duplicates as pairs
              from sync_run r
              join snapshot s on s.content_hash = r.content_hash
             where r.list = ${list} and r.review_id is not null and ${JOINABLE}
             order by r.review_id desc, r.status = 'held' desc, r.id) first
     where abs(pairs - ${pairs}::integer)
             <= ${agreementShare}::float8 * greatest(pairs, ${pairs}::integer)
     order by "reviewId" desc
     limit ${COMPARED_REVIEWS}
  `.execute(tx)
  return rows
}

/** Routes that only one of the two lists has, as a share of the larger list; 0 for two empty lists. */
async function differingShare(tx: Tx): Promise<number> {
  const { differing, larger } = await selectOne(
    sql<{ differing: number; larger: number }>`
      select (select count(*) from compared_route c
               where not exists (select from staged_route o
                                  where (o.departure_id, o.destination_id) = (c.departure_id, c.destination_id)))
           + (select count(*) from staged_route o
               where not exists (select from compared_route c
                                  where (c.departure_id, c.destination_id) = (o.departure_id, o.destination_id)))
               as differing,
             greatest((select count(*) from compared_route), (select count(*) from staged_route)) as larger
    `,
    tx,
  )
  return larger === 0 ? 0 : differing / larger
}

/** Reads a review. Its held runs count only if no run of another review is newer. */
async function readReview(tx: Tx, list: RouteListName, reviewId: number): Promise<ReviewState> {
  return selectOne(
    sql<ReviewState>`
      select ${reviewId}::bigint as "reviewId",
             coalesce(json_agg(id order by id) filter (where counts), '[]') as "heldRuns",
             min(fetched_at) filter (where counts) as "heldSince",
             bool_or(coalesce(resolution = 'rejected', false)) as rejected
        from (select *, status = 'held'
                        and id > coalesce((select max(id) from sync_run
                                            where list = ${list} and review_id <> ${reviewId}), 0) as counts
                from sync_run
               where review_id = ${reviewId}) of_review
    `,
    tx,
  )
}

/** Why a list is suspicious, the review that it belongs to, and why it is applied nevertheless. */
export interface Suspicion {
  readonly reason: SyncReason
  /** The review that the list joins; null if it agrees with none. */
  readonly reviewId: number | null
  /** Null if the list is held. */
  readonly release: Release | null
}

export interface Release {
  readonly reviewId: number
  /** Agreeing lists, this one included. */
  readonly lists: number
  readonly reason: SyncReason
}

interface JudgedList extends Omit<MatchArgs, 'agreementShare' | 'scrub'> {
  /** Null for a dry run. */
  readonly runId: number | null
  readonly fetchedAt: Date
}

/** Returns null for a list that is not suspicious. Leaves the temporary tables of `matchReview` if a review matches. */
export async function judgeSnapshot(
  tx: Tx,
  { guard, scrub }: Pick<SyncDeps, 'guard' | 'scrub'>,
  judged: JudgedList,
): Promise<Suspicion | null> {
  const { effect } = judged.plan
  const reason = suspicionOf(effect, guard)
  if (reason === null) return null
  const { agreementShare } = guard
  const review = await matchReview(tx, { ...judged, agreementShare, scrub })
  if (review === undefined) return { reason, reviewId: null, release: null }
  const { reviewId, heldRuns } = review
  const released = releaseOf(review, { ...judged, suspicion: reason, effect }, guard)
  const release = released && { reviewId, lists: heldRuns.length + 1, reason: released }
  return { reason, reviewId, release }
}

export interface AgreeingList extends Pick<JudgedList, 'runId' | 'fetchedAt'> {
  readonly suspicion: SyncReason
  readonly effect: SnapshotEffect
}

const HOUR_MS = 3_600_000

/**
 * Returns why a suspicious list is applied nevertheless: an accident does not repeat unchanged for a day. Returns null
 * if the list stays held: too few lists agree, they span too few hours, the list is empty or lacks so many routes that
 * a mistake would cost too much, or an operator has rejected a list of the review.
 */
export function releaseOf(
  { heldRuns, heldSince, rejected }: ReviewState,
  { runId, fetchedAt, suspicion, effect }: AgreeingList,
  limits: GuardLimits,
): SyncReason | null {
  const lists = heldRuns.length + 1
  const spanMs = heldSince === null ? 0 : fetchedAt.getTime() - heldSince.getTime()
  if (rejected || suspicion.code === 'empty') return null
  if (effect.missing > limits.releaseLostShare * effect.live) return null
  if (lists < limits.releaseLists || spanMs < limits.releaseHours * HOUR_MS) return null
  const runs =
    runId === null ? `${heldRuns.join(', ')} and this one` : [...heldRuns, runId].join(', ')
  return {
    code: 'agreed',
    text: `${lists} lists over ${Math.floor(spanMs / HOUR_MS)} hours agree (runs ${runs}); held because ${suspicion.text}`,
  }
}
