import { type Db, sql } from '../../platform/db/database.ts'
import { affected, inTransaction } from '../../platform/db/transaction.ts'
import { disableEndpoints } from '../endpoints/disable-endpoints.ts'
import { FAILING_DAYS, TRIED_FOR } from './delivery-rules.ts'

interface EndedDeliveries {
  /** How many deliveries died because they were tried for too long. */
  readonly dead: number
  /** The endpoints that were disabled because they fail for too long. */
  readonly disabled: readonly string[]
}

/**
 * Ends deliveries 28 hours after their first attempt or five days after their record, whichever is later, and disables
 * endpoints that fail for five days and are still tried. A delivery that was never attempted does not die, nor does
 * one whose endpoint or reseller is disabled. Safe to run at any time.
 */
export async function endDeliveries(db: Db): Promise<EndedDeliveries> {
  const dead = await inTransaction(db, (tx) =>
    affected(
      sql`
      update delivery d
         set state = 'dead', dead_reason = 'too_old', ended_at = clock_timestamp(), due_at = null, claim_id = null
        from webhook_endpoint e
        join reseller r on r.id = e.reseller_id and r.disabled_at is null
       where e.id = d.endpoint_id and e.disabled_at is null
         and d.state = 'pending'
         and first_attempt_at < now() - make_interval(hours => ${TRIED_FOR.hoursAfterFirstAttempt})
         and recorded_at < now() - make_interval(days => ${TRIED_FOR.daysAfterRecord})
         and (claim_id is null or due_at <= now())
    `,
      tx,
    ),
  )
  const disabled = await inTransaction(db, async (tx) => {
    const { rows } = await sql<{ id: string }>`
      select id from webhook_endpoint e
       where disabled_at is null and failing_since < now() - make_interval(days => ${FAILING_DAYS})
         and exists (select from delivery d where d.endpoint_id = e.id and d.state = 'pending' and d.attempts > 0)
       order by id
         for no key update
    `.execute(tx)
    return disableEndpoints(
      tx,
      rows.map(({ id }) => id),
      'failing',
    )
  })
  return { dead, disabled }
}

/** How long ended deliveries and attempts are kept. */
export const KEPT_DAYS = 30
/** One statement deletes so many rows, so that it ends soon. */
const BATCH = 5_000

/**
 * Deletes deliveries that ended over thirty days ago, attempts that were made before, secrets that do not sign any
 * more, and unused limits.
 */
export async function pruneDeliveries(db: Db, signal?: AbortSignal): Promise<void> {
  const before = sql`now() - make_interval(days => ${KEPT_DAYS})`
  const statements = [
    sql`delete from delivery where id in (select id from delivery where ended_at < ${before} limit ${BATCH})`,
    sql`
      delete from delivery_attempt
       where id in (select id from delivery_attempt where started_at < ${before} limit ${BATCH})
    `,
  ]
  for (const statement of statements) {
    while ((await affected(statement, db)) === BATCH) signal?.throwIfAborted()
  }
  await sql`delete from previous_secret where signs_until < now()`.execute(db)
  await sql`delete from target_pace where next_at < now() - interval '1 day'`.execute(db)
}

/** Deletes up to `batch` deliveries of a reseller with their attempts, then its endpoints. Returns how many rows. */
export async function deleteDeliveriesOf(
  db: Db,
  resellerId: number,
  batch: number,
): Promise<number> {
  const deliveries = await affected(
    sql`
      delete from delivery
       where id in (select d.id from delivery d join webhook_endpoint e on e.id = d.endpoint_id
                     where e.reseller_id = ${resellerId} limit ${batch})
    `,
    db,
  )
  if (deliveries > 0) return deliveries
  return affected(sql`delete from webhook_endpoint where reseller_id = ${resellerId}`, db)
}
