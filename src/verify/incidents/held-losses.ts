import { type Db, sql, type Tx } from '../../db/database.ts'
import { affected, selectOne } from '../../db/transaction.ts'

/** A loss that was answered and is not believed. */
const IS_AGAINST = sql`(s.state #>> '{outbound,against}' <> '0' or s.state #>> '{return,against}' <> '0')`

/**
 * Losses that were held wait for nobody's turn: they are looked at again as a first loss would be. Returns how many.
 *
 * Who calls this may hold the turns of a batch, so that no order of these ones is safe: a check on demand or an import
 * that holds one may be waiting for that batch. What they hold is left to them, and to its own turn.
 */
export async function askHeldAgain(tx: Tx): Promise<number> {
  return affected(
    sql`
      update fare_schedule
         set lane = 'confirmation', lane_due_at = clock_timestamp()
       where tracked_fare_id in (select q.tracked_fare_id
                                   from fare_schedule q
                                   join fare_state s using (tracked_fare_id)
                                  where q.claim_id is null and ${IS_AGAINST}
                                    for update of q skip locked)
    `,
    tx,
  )
}

/** Fares that are still believed bookable though their last answer said otherwise. */
export async function countHeldLosses(db: Db): Promise<number> {
  const { held } = await selectOne(
    sql<{ held: number }>`
      select count(*) as held
        from fare_state s
        join fare_schedule using (tracked_fare_id)
       where s.pair = 'bookable' and ${IS_AGAINST}
    `,
    db,
  )
  return held
}

/** An operator knows of a mass loss that it is true: until it is through, no loss is held for being one of many. */
export async function acceptMassLoss(tx: Tx, incidentId: number): Promise<void> {
  await sql`
    update incident set detail = detail || '{"closedBy": "operator", "accepted": true}' where id = ${incidentId}
  `.execute(tx)
}

/** Whether a mass loss that was said to be true is still under way: for a day at most, for nobody remembers longer. */
export async function isMassLossAccepted(tx: Tx): Promise<boolean> {
  const { accepted } = await selectOne(
    sql<{ accepted: boolean }>`
      select exists (select from incident
                      where kind = 'mass_loss' and detail @> '{"accepted": true}'
                        and closed_at > clock_timestamp() - interval '1 day') as accepted
    `,
    tx,
  )
  return accepted
}

/** It is through: the next mass of losses is judged anew. */
export async function endAcceptance(tx: Tx): Promise<void> {
  await sql`
    update incident set detail = detail || '{"accepted": false}' where detail @> '{"accepted": true}'
  `.execute(tx)
}
