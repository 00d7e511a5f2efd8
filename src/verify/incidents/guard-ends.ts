import { sql, type Tx } from '../../db/database.ts'
import { notify } from '../../db/listener.ts'
import type { IncidentTransition } from './change-incidents.ts'
import { assessMass } from './guard-changes.ts'
import { EXPIRY_RULE } from './incident.ts'
import { readOpenKinds } from './incident-queries.ts'

/**
 * Holds the end of fares that depart as a mass: their dates may be wrong. Returns whether it did.
 *
 * Each is asked again at once. It ends ten minutes later, unless the answers show another departure by then. A fare is
 * held once, so the caller leaves out those that were. The caller holds the locks of the fares.
 */
export async function holdMassOfEnds(
  tx: Tx,
  departing: readonly number[],
): Promise<{ readonly areHeld: boolean; readonly transitions: readonly IncidentTransition[] }> {
  if (departing.length === 0) return { areHeld: false, transitions: [] }
  const isOpen = (await readOpenKinds(tx)).includes(EXPIRY_RULE.kind)
  const { isOngoing, transitions } = await assessMass(tx, EXPIRY_RULE, {
    changing: departing,
    isOpen,
  })
  if (isOngoing) await postpone(tx, departing)
  return { areHeld: isOngoing, transitions }
}

async function postpone(tx: Tx, fareIds: readonly number[]): Promise<void> {
  await sql`
    update fare_state s
       set departs_at = h.until, held_until = h.until
      from (select clock_timestamp() + interval '10 minutes' as until) h
     where tracked_fare_id = any(${fareIds}::bigint[])
  `.execute(tx)
  await sql`
    update fare_schedule set lane = 'confirmation', lane_due_at = clock_timestamp()
     where tracked_fare_id = any(${fareIds}::bigint[]) and claim_id is null
  `.execute(tx)
  await sql`select ${notify('due')}`.execute(tx)
}
