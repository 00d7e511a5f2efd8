import { sql, type Tx } from '../db/database.ts'
import { selectOne } from '../db/transaction.ts'

export type AvailabilityChangeKind =
  | 'became_available'
  | 'became_unavailable'
  | 'legs_changed'
  | 'price_changed'
  | 'itinerary_changed'
  | 'identity_changed'
  | 'expired'

/** A confirmed change of a tracked fare, with what it was seen by. */
export interface AvailabilityChangeDraft {
  readonly fareId: number
  readonly kind: AvailabilityChangeKind
  readonly before: object
  readonly after: object
  /** When the last good check before it began, and the first that contradicted it: it happened in between. */
  readonly lastGoodCheckAt: string | null
  readonly detectedAt: string
  readonly evidenceHash: string | null
  readonly provenance: object
}

/** A change as it stands in the feed. */
export interface AppendedChange {
  readonly id: string
  readonly seq: number
  readonly fareId: number
}

/**
 * Appends changes to the feed of all fares, in the order given. From here to the commit the feed's head is locked,
 * which is what makes its numbers dense and lets them appear in order: call it late.
 */
export async function appendAvailabilityChanges(
  tx: Tx,
  drafts: readonly AvailabilityChangeDraft[],
): Promise<AppendedChange[]> {
  if (drafts.length === 0) return []
  const { before } = await selectOne(
    sql<{ before: number }>`
      update feed_head set last_seq = last_seq + ${drafts.length} where feed = 'availability'
      returning last_seq - ${drafts.length} as before
    `,
    tx,
  )
  const { rows } = await sql<AppendedChange>`
    insert into availability_change
           (seq, kind, tracked_fare_id, before, after, last_good_check_at, detected_at, evidence_hash, provenance)
    select ${before} + d.position, d.kind, d."fareId", d.before, d.after,
           d."lastGoodCheckAt", d."detectedAt", d."evidenceHash", d.provenance
      from rows from (jsonb_to_recordset(${JSON.stringify(drafts)}::jsonb)
             as ("fareId" bigint, kind text, before jsonb, after jsonb, "lastGoodCheckAt" timestamptz,
                 "detectedAt" timestamptz, "evidenceHash" text, provenance jsonb))
           with ordinality d ("fareId", kind, before, after, "lastGoodCheckAt", "detectedAt", "evidenceHash", provenance, position)
    returning id, seq, tracked_fare_id as "fareId"
  `.execute(tx)
  return rows
}
