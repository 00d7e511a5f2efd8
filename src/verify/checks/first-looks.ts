import { insertOwnChanges, type OwnChangeDraft } from '../../changes/watch-feed.ts'
import { sql, type Tx } from '../../db/database.ts'
import { type FareState, viewOf } from '../decide/fare-state.ts'
import type { OwnRecord } from './fan-out-changes.ts'

/** A check that bore out all that is believed of a fare of which something was known before. */
export interface BorneOut {
  readonly fareId: number
  readonly askedAt: Date
  readonly unseen: FareState
  readonly state: FareState
}

/**
 * The first looks of watches that began at a fare of which others knew something: each is told how it stands as if
 * nobody had asked before, once an answer to a question since its beginning bears that out.
 */
export async function takeFirstLooks(tx: Tx, borneOut: readonly BorneOut[]): Promise<OwnRecord[]> {
  if (borneOut.length === 0) return []
  const { rows: fresh } = await sql<{ fareId: number; watchId: string }>`
    select w.tracked_fare_id as "fareId", w.id as "watchId"
      from unnest(${borneOut.map((one) => one.fareId)}::bigint[], ${borneOut.map((one) => one.askedAt)}::timestamptz[])
           b (fare_id, asked_at)
      join watch w on w.tracked_fare_id = b.fare_id and w.looked_at is null and w.began_at <= b.asked_at
      join reseller r on r.id = w.reseller_id
     where w.paused_at is null and w.ended_at is null and r.disabled_at is null
     order by w.id
  `.execute(tx)
  const seen = borneOut.filter(({ fareId }) => fresh.some((watch) => watch.fareId === fareId))
  if (seen.length === 0) return []
  const ids = await insertOwnChanges(tx, seen.map(draftOf))
  const idOf = new Map(seen.map(({ fareId }, i) => [fareId, ids[i] ?? '']))
  return fresh.map(({ fareId, watchId }) => ({ watchId, ownChangeId: idOf.get(fareId) ?? '' }))
}

function draftOf({ fareId, askedAt, unseen, state }: BorneOut): OwnChangeDraft {
  const after = viewOf(state)
  return {
    fareId,
    kind: after.pair === 'bookable' ? 'became_available' : 'legs_changed',
    before: viewOf(unseen),
    after,
    lastGoodCheckAt: null,
    detectedAt: askedAt.toISOString(),
  }
}
