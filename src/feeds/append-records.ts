import type { AvailabilityChangeKind } from '../platform/base/change-kinds.ts'
import type { ChangeReason, EndReason } from '../platform/base/kinds.ts'
import { type Db, type RawBuilder, sql, type Tx } from '../platform/db/database.ts'
import { notify } from '../platform/db/listener.ts'
import { affected, inTransaction, selectOne } from '../platform/db/transaction.ts'

/**
 * Drafts the records of changes while the tables still hold the state before them. `drafts` selects kind, departure_id,
 * destination_id, place_id, before, after, last_seen_at and first_missed_at.
 */
export async function draftRouteChanges(tx: Tx, drafts: RawBuilder<unknown>): Promise<void> {
  await sql`
    create temp table route_change_draft (
      kind text, departure_id text, destination_id text, place_id text,
      before jsonb, after jsonb, last_seen_at timestamptz, first_missed_at timestamptz,
      route jsonb, first_seen_at timestamptz
    ) on commit drop
  `.execute(tx)
  await sql`
    insert into route_change_draft
           (kind, departure_id, destination_id, place_id, before, after, last_seen_at, first_missed_at)
    select kind, departure_id, destination_id, place_id, before, after, last_seen_at, first_missed_at
      from (${drafts}) d
  `.execute(tx)
}

/**
 * Appends the drafts to the feed, and returns whether there are any. Call it late: it locks the head of the feed until
 * the commit, which makes the numbers dense and lets them appear in order.
 */
export async function appendDraftedRouteChanges(tx: Tx, runId: number): Promise<boolean> {
  const { rows } = await sql<{ before: number }>`
    update feed_head
       set last_seq = last_seq + drafted.count
      from (select count(*) as count from route_change_draft) drafted
     where feed = 'route' and drafted.count > 0
    returning last_seq - drafted.count as before, ${notify('route')}
  `.execute(tx)
  const [head] = rows
  if (head === undefined) return false
  await sql`
    insert into route_change
           (seq, kind, departure_id, destination_id, place_id, before, after,
            last_seen_at, first_missed_at, route, first_seen_at, sync_run_id)
    select ${head.before} + row_number() over (order by kind, departure_id, destination_id, place_id),
           kind, departure_id, destination_id, place_id, before, after,
           last_seen_at, first_missed_at, route, first_seen_at, ${runId}
      from route_change_draft
  `.execute(tx)
  return true
}

/** How the price of a belief compares with those of its fare before, in the form of `price_context`. */
export function contextOf(
  fareId: RawBuilder<number>,
  belief: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`price_context(${fareId}, (${belief} #>> '{price,amount}')::numeric, ${belief} #>> '{price,currency}')`
}

/** A confirmed change of a tracked fare, with its evidence. */
export interface AvailabilityChangeDraft {
  readonly fareId: number
  readonly kind: AvailabilityChangeKind
  /** Why the fare was lost or ended. Null for other kinds. */
  readonly reason: ChangeReason | null
  readonly before: object
  readonly after: object
  /**
   * When the last good check before the change began. Null if nothing was known before. The change happened after
   * it.
   */
  readonly lastGoodCheckAt: string | null
  /** When the first check that showed the change began: it happened by then. */
  readonly detectedAt: string
  /** Since when a mass held it; null if none did. */
  readonly heldSince: string | null
  readonly evidenceHash: string | null
  readonly provenance: object
}

/** A change by its number in the feed. */
interface AppendedChange {
  readonly id: string
  readonly seq: number
  readonly fareId: number
}

/**
 * Appends changes to the feed of all fares, in the order given. Call it late: from here to the commit the feed's
 * head is locked, which makes its numbers dense and lets them appear in order.
 */
export async function appendAvailabilityChanges(
  tx: Tx,
  drafts: readonly AvailabilityChangeDraft[],
): Promise<AppendedChange[]> {
  if (drafts.length === 0) return []
  const { before } = await selectOne(
    sql<{ before: number }>`
      update feed_head set last_seq = last_seq + ${drafts.length} where feed = 'availability'
      returning last_seq - ${drafts.length} as before, ${notify('availability')}
    `,
    tx,
  )
  const { rows } = await sql<AppendedChange>`
    insert into availability_change
           (seq, kind, reason, tracked_fare_id, before, after, last_good_check_at, detected_at, held_since,
            evidence_hash, provenance, context)
    select ${before} + d.position, d.kind, d.reason, d."fareId", d.before, d.after,
           d."lastGoodCheckAt", d."detectedAt", d."heldSince", d."evidenceHash", d.provenance,
           case when d.kind in ('price_changed', 'became_available') then ${contextOf(sql`d."fareId"`, sql`d.after`)} end
      from rows from (jsonb_to_recordset(${JSON.stringify(drafts)}::jsonb)
             as ("fareId" bigint, kind text, reason text, before jsonb, after jsonb, "lastGoodCheckAt" timestamptz,
                 "detectedAt" timestamptz, "heldSince" timestamptz, "evidenceHash" text, provenance jsonb))
           with ordinality d ("fareId", kind, reason, before, after, "lastGoodCheckAt", "detectedAt", "heldSince",
                              "evidenceHash", provenance, position)
    returning id, seq, tracked_fare_id as "fareId"
  `.execute(tx)
  return rows
}

/**
 * The end of watches whose fare is still checked for others. Watches of one fare that end in one transaction share
 * it.
 */
interface WatchEndDraft
  extends Omit<AvailabilityChangeDraft, 'kind' | 'heldSince' | 'evidenceHash' | 'provenance'> {
  readonly reason: EndReason | null
}

/** Writes `expired` events, which are in no feed before they are drafted. Returns their ids, in the order given. */
export async function insertWatchEnds(tx: Tx, drafts: readonly WatchEndDraft[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    insert into watch_event (kind, reason, tracked_fare_id, before, after, last_good_check_at, detected_at)
    select 'expired', d.reason, d.fare_id, d.before, d.after, d.last_good_check_at, d.detected_at
      from unnest(${drafts.map((d) => d.fareId)}::bigint[],
                  ${drafts.map((d) => d.reason)}::text[],
                  ${drafts.map((d) => JSON.stringify(d.before))}::jsonb[],
                  ${drafts.map((d) => JSON.stringify(d.after))}::jsonb[],
                  ${drafts.map((d) => d.lastGoodCheckAt)}::timestamptz[],
                  ${drafts.map((d) => d.detectedAt)}::timestamptz[]) with ordinality
           d (fare_id, reason, before, after, last_good_check_at, detected_at, n)
     order by d.n
    returning id
  `.execute(tx)
  return rows.map(({ id }) => id)
}

/**
 * Creates the temporary table `watch_change_draft`, empty, in which a transaction collects records for the feeds of
 * resellers: reseller_id, watch_id, reference, and either change_id with change_seq, or watch_event_id, or route_seq.
 * `fare_id` is for the caller's own use.
 */
export async function createWatchDrafts(tx: Tx): Promise<void> {
  await sql`
    create temp table if not exists watch_change_draft
      (reseller_id bigint, watch_id uuid, reference text, fare_id bigint, change_id uuid, change_seq bigint,
       watch_event_id uuid, route_seq bigint, intents text[] not null default '{}', saving numeric, notified_amount numeric, notified_currency text)
      on commit delete rows
  `.execute(tx)
  // The table has rows if the transaction has appended drafts before.
  await sql`delete from watch_change_draft`.execute(tx)
}

/**
 * Appends the drafts to the feeds of their resellers. Returns how many records. The drafts stay readable until the
 * transaction ends.
 *
 * Call it late: from here to the commit the resellers' rows are locked, which makes the
 * numbers of each feed dense and lets them appear in order. The rows are locked in the order of their ids, so that
 * two transactions never wait for each other.
 */
export async function appendWatchDrafts(tx: Tx): Promise<number> {
  await sql`
    select id from reseller
     where id in (select reseller_id from watch_change_draft)
     order by id
       for no key update
  `.execute(tx)
  const count = await affected(
    sql`
      insert into watch_change (reseller_id, seq, watch_id, reference, list, change_id, watch_event_id, route_seq, intents, saving,
                                notified_amount, notified_currency)
      select d.reseller_id,
             last_seq + row_number() over (partition by d.reseller_id order by d.change_seq, d.route_seq, d.watch_event_id, d.watch_id),
             d.watch_id, d.reference, l.name, d.change_id, d.watch_event_id, d.route_seq, d.intents, d.saving, d.notified_amount, d.notified_currency
        from watch_change_draft d
        join reseller r on r.id = d.reseller_id
        left join watch w on w.id = d.watch_id
        left join watch_list l on l.id = w.watch_list_id
    `,
    tx,
  )
  await sql`
    update reseller r
       set last_seq = last_seq + d.count
      from (select reseller_id, count(*) as count from watch_change_draft group by reseller_id) d
     where r.id = d.reseller_id
    returning ${notify('watch', sql`r.id`)}
  `.execute(tx)
  return count
}

/** Deletes up to `batch` records of the feed of a reseller. Returns how many. */
export function deleteRecordsOf(db: Db, resellerId: number, batch: number): Promise<number> {
  return deleteRecords(
    db,
    sql`where (reseller_id, seq) in (select reseller_id, seq from watch_change where reseller_id = ${resellerId} limit ${batch})`,
  )
}

/** Deletes records `w` of watches with the events that no other record has. Returns how many. */
export function deleteRecords(db: Db, which: RawBuilder<unknown>): Promise<number> {
  return inTransaction(db, async (tx) => {
    const { rows } = await sql<{ event: string | null }>`
      delete from watch_change w ${which} returning w.watch_event_id as event
    `.execute(tx)
    const events = rows.flatMap(({ event }) => event ?? [])
    await sql`
      delete from watch_event e
       where e.id = any(${events}::uuid[]) and not exists (select from watch_change w where w.watch_event_id = e.id)
    `.execute(tx)
    return rows.length
  })
}
