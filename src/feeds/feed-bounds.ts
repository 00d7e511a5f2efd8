import { type Db, type RawBuilder, sql } from '../platform/db/database.ts'
import { readGeneration } from '../platform/db/generations.ts'
import { readHistoryFloor } from '../platform/db/history-floor.ts'
import { selectOne } from '../platform/db/transaction.ts'
import { ProblemError } from '../platform/http/problems.ts'
import type { Metrics } from '../platform/metrics/metrics.ts'

/** Numbers that a feed leaves out where a generation begins. */
export interface Gap {
  /** The last number before it: the end of the feed in the backup that was restored. */
  readonly after: number
  /** The first number after it. */
  readonly next: number
  /** The generation that begins after it. */
  readonly generation: number
}

/** The first and the last number of a feed. Records before the first one are archived. */
export interface FeedBounds {
  /** 1 if nothing was archived. */
  readonly first: number
  /** 0 before the first record. */
  readonly head: number
  /** In the order of their numbers; empty in a database that was never restored. The last one may begin at the head. */
  readonly gaps: readonly Gap[]
}

/**
 * How many numbers a feed has up to this one. Only between two gaps are numbers dense: every rule about the distance of
 * records goes by this count.
 */
function countUpTo(gaps: readonly Gap[], seq: number): number {
  return gaps.reduce(
    (count, { after, next }) => count - Math.max(0, Math.min(seq, next - 1) - after),
    seq,
  )
}

/** The number that is this many steps above a number of the feed, or below it. */
export function numberFrom(gaps: readonly Gap[], seq: number, steps: number): number {
  const count = countUpTo(gaps, seq) + steps
  return gaps.reduce((at, { after, next }) => (at > after ? at + next - 1 - after : at), count)
}

/** Whether a number lies in a gap. A reader has it from a state of the database that a restore has discarded. */
export function isInGap(gaps: readonly Gap[], seq: number): boolean {
  return numberFrom(gaps, seq, 0) !== seq
}

/** The present generation of the feed. */
export function generationOf({ gaps }: Pick<FeedBounds, 'gaps'>): number {
  return gaps.at(-1)?.generation ?? 1
}

/** The gaps of the feed in a row of `feed_gap` that meets the condition. */
export function gapsWhere(condition: RawBuilder<unknown>): RawBuilder<Gap[]> {
  return sql<Gap[]>`
    (select coalesce(json_agg(json_build_object('after', after_seq, 'next', next_seq, 'generation', generation)
                              order by generation), '[]')
       from feed_gap
      where ${condition})
  `
}

/** The generation of a record: of the feed in the rows of `feed_gap` that meet the condition. */
export function generationAt(
  seq: RawBuilder<unknown>,
  condition: RawBuilder<unknown>,
): RawBuilder<number> {
  return sql<number>`
    (select coalesce(max(generation), 1) from feed_gap where ${condition} and next_seq <= ${seq})
  `
}

/** The bounds of a feed that all resellers share; every record up to its head is committed. */
export function readFeedBounds(db: Db, feed: 'route' | 'availability'): Promise<FeedBounds> {
  return selectOne(
    sql<FeedBounds>`
      select first_seq as first, last_seq as head, ${gapsWhere(sql`feed = ${feed}`)} as gaps
        from feed_head
       where feed = ${feed}
    `,
    db,
  )
}

/** Why a reader's number is refused. */
export interface Fault {
  readonly code: 'changes.restored' | 'changes.beyond_head' | 'changes.archived'
  readonly why: string
  /** The number after which the feed can be read. */
  readonly continueAfter: number
}

/** Why the feed cannot be read after a number: it does not have it yet, or no longer has what follows it. */
export function findFault(bounds: FeedBounds, after: number): Fault | undefined {
  const { first, head, gaps } = bounds
  if (isInGap(gaps, after)) {
    const continueAfter = numberFrom(gaps, after, 0)
    const why =
      `the database was restored from a backup in which the feed ended at ${continueAfter}: the records that you have ` +
      `after ${continueAfter} do not exist any more, and changes between the backup and the restore may be in no record. ` +
      `Read the state again and go on after its number, or go on after ${continueAfter}`
    return { code: 'changes.restored', why, continueAfter }
  }
  // Such a client would miss all records up to its number.
  if (after > head) {
    return { code: 'changes.beyond_head', why: `the feed ends at ${head}`, continueAfter: head }
  }
  if (!isArchivedAfter(bounds, after)) return undefined
  const why = `the feed begins at ${first}: earlier records are archived`
  return { code: 'changes.archived', why, continueAfter: numberFrom(gaps, first - 1, 0) }
}

/** The number after which a reader begins. Throws the problem of a number after which the feed cannot be read. */
export function startAfter(
  bounds: FeedBounds,
  after: number | undefined,
  parameter = 'after',
): number {
  if (after === undefined) return numberFrom(bounds.gaps, bounds.first - 1, 0)
  const fault = findFault(bounds, after)
  if (fault === undefined) return after
  const { code, why, continueAfter } = fault
  throw new ProblemError(code, {
    parameter,
    ...(code === 'changes.restored' ? { continueAfter, generation: generationOf(bounds) } : {}),
    ...(code === 'changes.archived' ? { first: bounds.first } : {}),
    detail: `${parameter} is ${after}, but ${why}`,
  })
}

/** Throws the problem of a record that the feed does not have, or no longer has. */
export function throwMissing(bounds: FeedBounds, seq: number): never {
  if (!isArchivedAfter(bounds, seq - 1)) {
    throw new ProblemError('not_found', {
      missing: 'record',
      parameter: 'seq',
      detail: `the feed has no record ${seq}`,
    })
  }
  throw new ProblemError('changes.archived', {
    parameter: 'seq',
    first: bounds.first,
    detail:
      `record ${seq} is archived, and the feed begins at ${bounds.first}: ` +
      'the operator has it in an export',
  })
}

/** Whether records after a number of the feed are archived. */
export function isArchivedAfter({ first, gaps }: FeedBounds, after: number): boolean {
  return after < numberFrom(gaps, first - 1, 0)
}

/**
 * Adds the number before each record, so that a reader sees whether it missed one. Without a filter it is the number
 * before it in the feed.
 * @param findBefore finds the last number before another that passes the filter.
 */
export async function linkToPrevious<R extends { readonly seq: number }>(
  rows: readonly R[],
  { filter, gaps }: { readonly filter: object; readonly gaps: readonly Gap[] },
  findBefore: (seq: number) => Promise<number>,
): Promise<(R & { readonly previous: number })[]> {
  const [first] = rows
  if (first === undefined) return []
  const before = isFiltered(filter) ? await findBefore(first.seq) : numberFrom(gaps, first.seq, -1)
  return rows.map((row, i) => ({ ...row, previous: rows[i - 1]?.seq ?? before }))
}

/** Whether a filter has a condition. */
export function isFiltered(filter: object): boolean {
  return Object.values(filter).some((wanted) => wanted !== undefined)
}

export interface FeedHead {
  readonly feed: string
  readonly lastSeq: number
  /** Seconds since 1970; 0 before the first record. */
  readonly lastRecordAt: number
}

/** Sets the gauges of the feeds and their generation, and of the floor of the histories, from the database. */
export async function readFeedGauges(db: Db, metrics: Metrics): Promise<void> {
  for (const { feed, lastSeq, lastRecordAt } of await readFeedHeads(db)) {
    metrics.feedLastSeq.set({ feed }, lastSeq)
    metrics.feedLastRecord.set({ feed }, lastRecordAt)
  }
  metrics.feedGeneration.set((await readGeneration(db)).number)
  metrics.historyFloor.set(((await readHistoryFloor(db))?.getTime() ?? 0) / 1000)
}

/** The feeds of all resellers count as one: how many records a reseller has is secret. */
export async function readFeedHeads(db: Db): Promise<FeedHead[]> {
  const { rows } = await sql<FeedHead>`
    select feed, last_seq as "lastSeq", coalesce(extract(epoch from recorded_at), 0)::float8 as "lastRecordAt"
      from (select 'route' as feed, h.last_seq, c.recorded_at
              from feed_head h
              left join route_change c on c.seq = h.last_seq
             where h.feed = 'route'
            union all
            select 'availability', h.last_seq, c.recorded_at
              from feed_head h
              left join availability_change c on c.seq = h.last_seq
             where h.feed = 'availability'
            union all
            select 'watch', coalesce(sum(r.last_seq), 0)::bigint, max(w.recorded_at)
              from reseller r
              left join watch_change w on w.reseller_id = r.id and w.seq = r.last_seq) f
  `.execute(db)
  return rows
}
