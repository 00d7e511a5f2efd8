import type { RouteListName } from '../../platform/base/kinds.ts'
import type { Scrub } from '../../platform/base/secrets.ts'
import { sql, type Tx } from '../../platform/db/database.ts'
import { selectOne } from '../../platform/db/transaction.ts'
import type { SnapshotPlan } from '../plan/plan-snapshot.ts'
import { createStagingTables, stageSnapshot } from '../plan/stage-snapshot.ts'
import { SnapshotDamagedError, SnapshotNotKeptError } from '../runs/sync-errors.ts'
import { JOINABLE } from '../runs/sync-run-queries.ts'
import { type FetchedList, listOfRun, readSlices } from '../snapshots/fetched-list.ts'

/** Each comparison reads a whole list, so a suspicious list is compared with the newest reviews alone. */
const COMPARED_REVIEWS = 3

export interface MatchArgs {
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
    const kept = await findKept(tx, candidate)
    if (kept === undefined) continue
    await stageSnapshot(tx, scrub, readSlices(tx, { list, fetched: kept }), 'compared')
    if ((await differingShare(tx)) <= args.agreementShare) {
      return readReview(tx, list, candidate.reviewId)
    }
    await sql`drop table compared_route, compared_place`.execute(tx)
  }
  return undefined
}

/** The review of a list with the same bytes. The hash of a run identifies it, even after its stored list was deleted. */
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

/** The list of a candidate; undefined if it cannot be read, which is no fault of the list that is compared. */
async function findKept(tx: Tx, candidate: Candidate): Promise<FetchedList | undefined> {
  const kept = listOfRun(candidate)
  try {
    await kept.chunks(tx)
    return kept
  } catch (err) {
    if (err instanceof SnapshotNotKeptError || err instanceof SnapshotDamagedError) return undefined
    throw err
  }
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
