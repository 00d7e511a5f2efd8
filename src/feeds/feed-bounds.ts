import { type Db, type RawBuilder, sql } from '../platform/db/database.ts'
import { GENERATION_SPAN, readGeneration } from '../platform/db/generations.ts'
import { readHistoryFloor } from '../platform/db/history-floor.ts'
import { ProblemError } from '../platform/http/problems.ts'
import type { Metrics } from '../platform/metrics/metrics.ts'
import type { FeedName } from './feed-heads.ts'

/** The first and the last number of a feed. Records before the first one are archived. */
export interface FeedBounds {
  /** 1 if nothing was archived. */
  readonly first: number
  /** The start of its generation before the first record: 0 in a database that was never restored. */
  readonly head: number
  /** The last number of a record that is at most one above that of the reader; 0 if there is none. */
  readonly given: number
}

/** The number before the first one of the generation of a number. */
function startOf(seq: number): number {
  return seq - (seq % GENERATION_SPAN)
}

/** The bounds of a feed for a reader of the records after a number; every record up to its head is committed. */
export async function readFeedBounds(db: Db, feed: FeedName, after = 0): Promise<FeedBounds> {
  const { rows } = await sql<FeedBounds>`
    select first_seq as first, last_seq as head,
           coalesce((select max(seq) from ${recordsOf(feed)} where seq <= ${after + 1}), 0) as given
      from ${typeof feed === 'number' ? sql`reseller where id = ${feed}` : sql`feed_head where feed = ${feed}`}
  `.execute(db)
  return rows[0] ?? { first: 1, head: 0, given: 0 }
}

/** The records of a feed, with their numbers. */
function recordsOf(feed: FeedName): RawBuilder<unknown> {
  return typeof feed === 'number'
    ? sql`(select seq from watch_change where reseller_id = ${feed}) r`
    : sql.table(`${feed}_change`)
}

/** Why a reader's number is refused. */
export interface Fault {
  readonly code: 'changes.restored' | 'changes.beyond_head' | 'changes.archived'
  readonly why: string
  /** The number after which the feed can be read. */
  readonly continueAfter: number
}

/**
 * Why the feed cannot be read after a number: it does not have it yet, or no longer has what follows it. Numbers of an older
 * generation, of which the feed has neither the record nor the next one, were given after the backup.
 */
export function findFault({ first, head, given }: FeedBounds, after: number): Fault | undefined {
  // Such a client would miss all records up to its number.
  if (after > head) {
    return { code: 'changes.beyond_head', why: `the feed ends at ${head}`, continueAfter: head }
  }
  if (isArchivedAfter({ first }, after)) {
    const why = `the feed begins at ${first}: earlier records are archived`
    return { code: 'changes.archived', why, continueAfter: first - 1 }
  }
  const continueAfter = Math.max(Math.min(given, after), startOf(after), first - 1)
  if (startOf(after) === startOf(head) || continueAfter === after) return undefined
  const why =
    `the database was restored from a backup in which the feed ended at ${continueAfter}: the records that you have ` +
    `after ${continueAfter} do not exist any more, and changes between the backup and the restore may be in no record. ` +
    `Read the state again and go on after its number, or go on after ${continueAfter}`
  return { code: 'changes.restored', why, continueAfter }
}

/** The number after which a reader begins. Throws the problem of a number after which the feed cannot be read. */
export function startAfter(
  bounds: FeedBounds,
  after: number | undefined,
  parameter = 'after',
): number {
  if (after === undefined) return bounds.first - 1
  const fault = findFault(bounds, after)
  if (fault === undefined) return after
  const { code, why, continueAfter } = fault
  throw new ProblemError(code, {
    parameter,
    ...(code === 'changes.restored' ? { continueAfter } : {}),
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
export function isArchivedAfter({ first }: Pick<FeedBounds, 'first'>, after: number): boolean {
  return after < first - 1
}

/**
 * The number after which a reader goes on that has examined a feed up to a number and found less than it asked for. Behind
 * the last record of an older generation it goes on before the first one of the next.
 */
export async function endOfPage(
  db: Db,
  feed: FeedName,
  { through, head }: { readonly through: number; readonly head: number },
): Promise<number> {
  if (through >= head) return head
  const { rows } = await sql<{ seq: number }>`
    select seq from ${recordsOf(feed)} where seq > ${through} order by seq limit 1
  `.execute(db)
  return Math.min(head, (rows[0]?.seq ?? head + 1) - 1)
}

/**
 * Adds the number before each record, so that a reader sees whether it missed one; 0 for the first of a generation.
 * Without a filter it is the number before it in the feed.
 * @param findBefore finds the last number before another that passes the filter.
 */
export async function linkToPrevious<R extends { readonly seq: number }>(
  rows: readonly R[],
  { filter, after }: { readonly filter: object; readonly after: number },
  findBefore: (seq: number) => Promise<number>,
): Promise<(R & { readonly previous: number })[]> {
  const [first] = rows
  if (first === undefined) return []
  const before = isFiltered(filter) ? await findBefore(first.seq) : after
  return rows.map((row, i) => {
    const previous = rows[i - 1]?.seq ?? before
    return { ...row, previous: previous > startOf(row.seq) ? previous : 0 }
  })
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

/**
 * The feeds of all resellers count as one: how many records a reseller has is secret. Numbers count from the start of their
 * generation.
 */
export async function readFeedHeads(db: Db): Promise<FeedHead[]> {
  const lastSeq = sql`last_seq % ${sql.lit(GENERATION_SPAN)}`
  const { rows } = await sql<FeedHead>`
    select feed, last_seq as "lastSeq", coalesce(extract(epoch from recorded_at), 0)::float8 as "lastRecordAt"
      from (select feed, ${lastSeq} as last_seq,
                   case feed when 'route' then (select recorded_at from route_change order by seq desc limit 1)
                             else (select recorded_at from availability_change order by seq desc limit 1) end as recorded_at
              from feed_head
            union all
            select 'watch', coalesce(sum(${lastSeq}), 0)::bigint, max(w.recorded_at)
              from reseller r
              left join lateral (
                   select recorded_at from watch_change where reseller_id = r.id order by seq desc limit 1) w on true) f
  `.execute(db)
  return rows
}
