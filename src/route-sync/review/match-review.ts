import type { Scrub } from '../../base/secrets.ts'
import { sql, type Tx } from '../../db/database.ts'
import { selectOne } from '../../db/transaction.ts'
import type { RouteListName } from '../../upstream/route-list.ts'
import { type StagingPrefix, stageSnapshot } from '../plan/stage-snapshot.ts'
import { JOINABLE } from '../runs/resolve-runs.ts'
import { type FetchedList, listOfRun, readSlices } from '../snapshots/fetched-list.ts'
import { SnapshotDamagedError } from '../snapshots/pack-snapshot.ts'
import { SnapshotNotKeptError } from '../snapshots/snapshots.ts'
import type { ReviewState } from './release.ts'

/** A comparison reads a whole list; who brings ever new ones is told of each. */
const COMPARED_REVIEWS = 3

export interface MatchArgs {
  readonly list: RouteListName
  readonly fetched: FetchedList
  /** Distinct routes in it. */
  readonly pairs: number
  /** Whether `staged_route` holds it. */
  readonly staged: boolean
  readonly agreementShare: number
  readonly scrub: Scrub
}

interface Candidate {
  readonly reviewId: number
  readonly runId: number
  readonly contentHash: string
  readonly bytes: number
}

/**
 * Finds the review whose lists agree with a suspicious one; undefined where it is the first of its kind. What agrees
 * is compared with the first list of the review that is held, or else dropped, so that a review cannot drift.
 * Leaves `compared_route`: that list where it is another one, else no rows.
 */
export async function matchReview(tx: Tx, args: MatchArgs): Promise<ReviewState | undefined> {
  const same = await findSame(tx, args)
  if (same !== undefined) {
    await sql`
      create temp table compared_route (departure_id text, destination_id text) on commit drop
    `.execute(tx)
    return readReview(tx, args.list, same)
  }
  const candidates = await findCandidates(tx, args)
  if (candidates.length === 0) return undefined
  const prefix = await stageOnce(tx, args)
  for (const candidate of candidates) {
    const kept = await readKept(tx, candidate)
    if (kept === undefined) continue
    await stageSnapshot(
      tx,
      args.scrub,
      readSlices(tx, { list: args.list, fetched: kept }),
      'compared',
    )
    if ((await differingShare(tx, prefix)) <= args.agreementShare) {
      return readReview(tx, args.list, candidate.reviewId)
    }
    await sql`drop table compared_route, compared_place`.execute(tx)
  }
  return undefined
}

/** The review of a list of the same bytes: it is known by its run, however long the bytes were kept, if at all. */
async function findSame(tx: Tx, { list, fetched }: MatchArgs): Promise<number | undefined> {
  const { rows } = await sql<{ reviewId: number }>`
    select r.review_id as "reviewId"
      from sync_run r
     where r.list = ${list} and r.content_hash = ${fetched.contentHash} and ${JOINABLE}
     order by r.review_id
     limit 1
  `.execute(tx)
  return rows[0]?.reviewId
}

/** Reviews by their first kept list, of about the same length. */
async function findCandidates(tx: Tx, args: MatchArgs): Promise<Candidate[]> {
  const { rows } = await sql<Candidate>`
    select "reviewId", "runId", "contentHash", bytes
      from (select distinct on (r.review_id)
                   r.review_id as "reviewId", r.id as "runId", r.content_hash as "contentHash", r.bytes,
                   r.fetched - r.duplicates as pairs
              from sync_run r
              join snapshot s on s.content_hash = r.content_hash
             where r.list = ${args.list} and r.review_id is not null and ${JOINABLE}
             order by r.review_id desc, r.status = 'held' desc, r.id) first
     where abs(pairs - ${args.pairs}::integer)
             <= ${args.agreementShare}::float8 * greatest(pairs, ${args.pairs}::integer)
     order by "reviewId" desc
     limit ${COMPARED_REVIEWS}
  `.execute(tx)
  return rows
}

/** Undefined where the kept list cannot be read: what is wrong with it is no fault of the list that is compared. */
async function readKept(tx: Tx, candidate: Candidate): Promise<FetchedList | undefined> {
  const kept = listOfRun(candidate)
  try {
    const chunks = await kept.chunks(tx)
    return { ...kept, chunks: async () => chunks }
  } catch (err) {
    if (err instanceof SnapshotNotKeptError || err instanceof SnapshotDamagedError) return undefined
    throw err
  }
}

/** The last accepted list again is not staged, for its diff needs no rows. */
async function stageOnce(tx: Tx, { list, fetched, staged, scrub }: MatchArgs) {
  if (staged) return 'staged'
  await stageSnapshot(tx, scrub, readSlices(tx, { list, fetched }), 'second')
  return 'second'
}

/** Routes that one of two lists lacks, of those of the larger one; 0 for two empty lists. */
async function differingShare(tx: Tx, prefix: StagingPrefix): Promise<number> {
  const ours = sql.table(`${prefix}_route`)
  const { differing, larger } = await selectOne(
    sql<{ differing: number; larger: number }>`
      select (select count(*) from compared_route c
               where not exists (select from ${ours} o
                                  where (o.departure_id, o.destination_id) = (c.departure_id, c.destination_id)))
           + (select count(*) from ${ours} o
               where not exists (select from compared_route c
                                  where (c.departure_id, c.destination_id) = (o.departure_id, o.destination_id)))
               as differing,
             greatest((select count(*) from compared_route), (select count(*) from ${ours})) as larger
    `,
    tx,
  )
  return larger === 0 ? 0 : differing / larger
}

/** A list of another review in between says that it was not the same all the while: the count begins anew. */
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
