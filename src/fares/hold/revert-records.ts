import type { Logger } from '../../platform/base/logger.ts'
import { type Db, sql, type Tx } from '../../platform/db/database.ts'
import { inTransaction, openScratchTransaction } from '../../platform/db/transaction.ts'
import { expedite } from '../../schedule/follow.ts'
import {
  ENDED_WITH_FARE,
  lockTrackedFares,
  reopenWatches,
  syncTrackedFares,
} from '../../watches/sync-tracked-fares.ts'
import { STATE_COLUMNS } from '../check/belief-store.ts'
import {
  endedView,
  type FareView,
  type StateRow,
  type StoredState,
  stateOfRow,
  storedState,
  withoutInstants,
} from '../decide/fare-state.ts'
import { departsAt } from '../decide/reading.ts'

/** A span of time in which false changes were recorded. */
interface RevertedSpan {
  readonly from: Date
  readonly to: Date
  readonly dryRun: boolean
}

/** What a revert has done, or would do. */
export interface Reversal {
  /** Fares that are shown as unknown until their next confirmed reading. */
  readonly fares: number
  /** Watches whose end is taken back. */
  readonly watches: number
  /** Fares that have departed, or that ended and are no longer watched: they are left as they are. */
  readonly left: number
}

/**
 * Takes back what was recorded of fares in a span of time: nothing is believed of them any more, the watches that ended
 * with them go on, and all are checked soon.
 *
 * No record is deleted, and none is written: the next confirmed reading of each fare is recorded against what its last
 * record shows, and not at all where that was true. Safe to run twice. With `dryRun` everything is rolled back.
 */
export async function revertRecords(
  { db, log }: { readonly db: Db; readonly log: Logger },
  { dryRun, ...span }: RevertedSpan,
): Promise<Reversal> {
  if (!dryRun) {
    const reversal = await inTransaction(db, (tx) => revert(tx, span))
    log.info({ ...span, ...reversal }, 'records reverted')
    return reversal
  }
  const tx = await openScratchTransaction(db)
  try {
    return await revert(tx, span)
  } finally {
    await tx.end()
  }
}

async function revert(tx: Tx, span: Omit<RevertedSpan, 'dryRun'>): Promise<Reversal> {
  const recorded = await findRecorded(tx, span)
  await lockTrackedFares(tx, recorded)
  const found = await lockStates(tx, recorded, span)
  const reverted = found.filter(isStillOpen)
  const ids = reverted.map(({ fareId }) => fareId)
  const watches = await reopenWatches(tx, ids, { begin: [] })
  await saveReverted(tx, reverted)
  await beginIntervals(
    tx,
    reverted.flatMap(({ fareId, hasEnded }) => (hasEnded ? [fareId] : [])),
  )
  await syncTrackedFares(tx, ids)
  await expedite(tx, ids)
  return { fares: ids.length, watches, left: found.length - ids.length }
}

async function findRecorded(tx: Tx, { from, to }: Omit<RevertedSpan, 'dryRun'>): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select distinct tracked_fare_id as id from availability_change where recorded_at between ${from} and ${to}
  `.execute(tx)
  return rows.map((row) => row.id)
}

interface RecordedFare extends StateRow {
  readonly fareId: number
  readonly hasEnded: boolean
  /** Whether a watch of it is active, or ended with it. */
  readonly isWatched: boolean
  /** What was shown before the first record of the span. */
  readonly before: FareView
  readonly now: Date
}

async function lockStates(
  tx: Tx,
  fareIds: readonly number[],
  { from }: Pick<RevertedSpan, 'from'>,
): Promise<RecordedFare[]> {
  const { rows } = await sql<RecordedFare>`
    select ${STATE_COLUMNS}, s.expired_at is not null as "hasEnded",
           s.expired_at is null
             or exists (select from watch w where w.tracked_fare_id = s.tracked_fare_id and ${ENDED_WITH_FARE}) as "isWatched",
           (select c.before from availability_change c
             where c.tracked_fare_id = s.tracked_fare_id and c.recorded_at >= ${from} order by c.seq limit 1) as before,
           clock_timestamp() as now
      from fare_state s
     where s.tracked_fare_id = any(${fareIds}::bigint[])
     order by s.tracked_fare_id
       for update of s
  `.execute(tx)
  return rows
}

const NO_FLIGHTS = { outbound: null, return: null }

/** A fare that ended by its true departure stays ended: the departure that was known before the span. */
function isStillOpen(fare: RecordedFare): boolean {
  if (!fare.hasEnded) return true
  const before = { belief: fare.before, lastFlights: NO_FLIGHTS }
  const departure = departsAt(before) ?? departsAt(stateOfRow(fare))
  return fare.isWatched && (departure === null || Date.parse(departure) > fare.now.getTime())
}

/** Of a fare that has ended, the last record shows nothing but its end. */
function revertedState(fare: RecordedFare): StoredState {
  const state = { ...withoutInstants(stateOfRow(fare)), reverted: true }
  const ended = { belief: endedView(fare.hasReturn), lastFlights: NO_FLIGHTS }
  return storedState(fare.hasEnded ? { ...state, ...ended } : state)
}

/** Answers to questions that were asked before now are dropped. */
async function saveReverted(tx: Tx, fares: readonly RecordedFare[]): Promise<void> {
  const states = fares.map((fare) => ({ id: fare.fareId, state: revertedState(fare) }))
  await sql`
    update fare_state s
       set state = b.state, hidden = 'reverted', held = '{}', held_since = null, contradicted_since = null,
           asked_at = greatest(clock_timestamp(), s.asked_at), departs_at = case when s.expired_at is null then s.departs_at end,
           expired_at = null, ask_again_at = null, held_until = null, past_since = null
      from jsonb_to_recordset(${JSON.stringify(states)}::jsonb) as b (id bigint, state jsonb)
     where s.tracked_fare_id = b.id
  `.execute(tx)
}

/** The history of an ended fare has no open interval. */
async function beginIntervals(tx: Tx, fareIds: readonly number[]): Promise<void> {
  await sql`
    insert into fare_belief_version (tracked_fare_id, outbound, return, pair, price, currency, valid_from)
    select s.tracked_fare_id, s.outbound, s.return, s.pair, null, null,
           greatest(clock_timestamp(), (select max(v.valid_to) from fare_belief_version v where v.tracked_fare_id = s.tracked_fare_id))
      from fare_state s
     where s.tracked_fare_id = any(${fareIds}::bigint[])
  `.execute(tx)
}
