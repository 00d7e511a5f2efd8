import { gunzipSync } from 'node:zlib'
import type { AvailabilityChangeKind, ChangeReason } from '../platform/base/kinds.ts'
import { type Db, type RawBuilder, sql, type Tx } from '../platform/db/database.ts'
import { notify } from '../platform/db/listener.ts'
import { selectOne } from '../platform/db/transaction.ts'

/** A confirmed change of a tracked fare, with its evidence. */
export interface AvailabilityChangeDraft {
  readonly fareId: number
  readonly kind: AvailabilityChangeKind
  /** Why the fare was lost or ended. Null for other kinds. */
  readonly reason: ChangeReason | null
  readonly before: object
  readonly after: object
  /** When the last good check before the change began. Null if nothing was known before. The change happened after it. */
  readonly lastGoodCheckAt: string | null
  /** When the first check that showed the change began: it happened by then. */
  readonly detectedAt: string
  /** Since when a mass held it; null if none did. */
  readonly heldSince: string | null
  readonly evidenceHash: string | null
  readonly provenance: object
}

/** A change by its number in the feed. */
export interface AppendedChange {
  readonly id: string
  readonly seq: number
  readonly fareId: number
}

/**
 * Appends changes to the feed of all fares, in the order given. Call it late: from here to the commit the feed's head is
 * locked, which makes its numbers dense and lets them appear in order.
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
            evidence_hash, provenance)
    select ${before} + d.position, d.kind, d.reason, d."fareId", d.before, d.after,
           d."lastGoodCheckAt", d."detectedAt", d."heldSince", d."evidenceHash", d.provenance
      from rows from (jsonb_to_recordset(${JSON.stringify(drafts)}::jsonb)
             as ("fareId" bigint, kind text, reason text, before jsonb, after jsonb, "lastGoodCheckAt" timestamptz,
                 "detectedAt" timestamptz, "heldSince" timestamptz, "evidenceHash" text, provenance jsonb))
           with ordinality d ("fareId", kind, reason, before, after, "lastGoodCheckAt", "detectedAt", "heldSince",
                              "evidenceHash", provenance, position)
    returning id, seq, tracked_fare_id as "fareId"
  `.execute(tx)
  return rows
}

/** A record of the feed of all fares. */
export interface AvailabilityChange {
  readonly seq: number
  readonly id: string
  readonly kind: AvailabilityChangeKind
  readonly reason: ChangeReason | null
  readonly fareId: number
  readonly flightId: string
  readonly returnFlightId: string | null
  readonly before: unknown
  readonly after: unknown
  readonly lastGoodCheckAt: Date | null
  readonly detectedAt: Date
  readonly heldSince: Date | null
  readonly recordedAt: Date
}

/** The records after a number, in order. */
export async function readAvailabilityChanges(
  db: Db,
  { after, limit }: { after: number; limit: number },
): Promise<AvailabilityChange[]> {
  return shown(db).where('c.seq', '>', after).orderBy('c.seq').limit(limit).execute()
}

/** The last records of a fare, newest first. */
export async function readChangesOfFare(
  db: Db,
  fareId: number,
  limit: number,
): Promise<AvailabilityChange[]> {
  return shown(db)
    .where('c.tracked_fare_id', '=', fareId)
    .orderBy('c.seq', 'desc')
    .limit(limit)
    .execute()
}

function shown(db: Db) {
  return db
    .selectFrom('availability_change as c')
    .innerJoin('tracked_fare as f', 'f.id', 'c.tracked_fare_id')
    .select([
      'c.seq',
      'c.id',
      'c.kind',
      'c.reason',
      'c.tracked_fare_id as fareId',
      'f.flight_id as flightId',
      'f.return_flight_id as returnFlightId',
      'c.before',
      'c.after',
      'c.last_good_check_at as lastGoodCheckAt',
      'c.detected_at as detectedAt',
      'c.held_since as heldSince',
      'c.recorded_at as recordedAt',
    ])
}

/** The upstream's answer that a change was decided on. */
export interface ChangeEvidence {
  /** The HTTP status of the answer; null if the change follows from no answer, such as the end of a fare. */
  readonly status: number | null
  readonly latencyMs: number | null
  /** The answer, without credentials; null if there was none, or if the retention has deleted it. */
  readonly answer: string | null
}

/** The evidence of a record in the feed of all fares. Undefined if there is no such record. */
export function findChangeEvidence(db: Db, seq: number): Promise<ChangeEvidence | undefined> {
  return readEvidence(
    db,
    sql`select c.id as change_id from availability_change c where c.seq = ${seq}`,
  )
}

/** The evidence of a record in a reseller's feed. Undefined if its feed has no such record. */
export function findWatchChangeEvidence(
  db: Db,
  resellerId: number,
  seq: number,
): Promise<ChangeEvidence | undefined> {
  return readEvidence(
    db,
    sql`select w.change_id from watch_change w where w.reseller_id = ${resellerId} and w.seq = ${seq}`,
  )
}

async function readEvidence(
  db: Db,
  record: RawBuilder<unknown>,
): Promise<ChangeEvidence | undefined> {
  const { rows } = await sql<Omit<ChangeEvidence, 'answer'> & { readonly body: Buffer | null }>`
    select (c.provenance ->> 'status')::int as status, (c.provenance ->> 'latencyMs')::float8 as "latencyMs", e.body
      from (${record}) r
      left join availability_change c on c.id = r.change_id
      left join evidence e on e.hash = c.evidence_hash
  `.execute(db)
  const [found] = rows
  if (found === undefined) return undefined
  const { body, ...call } = found
  return { ...call, answer: body === null ? null : gunzipSync(body).toString('utf8') }
}
