import { DISABLED_REASONS, type DisabledReason } from '../../base/kinds.ts'
import { type Db, sql } from '../../db/database.ts'
import { selectOne } from '../../db/transaction.ts'
import type { Metrics } from '../../metrics/metrics.ts'

/** The state of all deliveries. Instants are seconds since 1970; null if nothing waits. */
export interface DeliveryState {
  readonly pending: number
  readonly dead: number
  /** Since when the longest-waiting delivery is due, by whether the last attempt at its endpoint failed. */
  readonly oldest: { readonly healthy: number | null; readonly failing: number | null }
  /** How many endpoints receive nothing, by reason. */
  readonly disabled: Readonly<Partial<Record<DisabledReason, number>>>
}

/**
 * Reads the state of the deliveries to enabled endpoints of enabled resellers. A record that the fan-out has not reached
 * waits too.
 */
export async function readDeliveryState(db: Db): Promise<DeliveryState> {
  const { healthy, failing, ...counts } = await selectOne(
    sql<Omit<DeliveryState, 'oldest'> & DeliveryState['oldest']>`
      with waiting as (
        select e.failures > 0 as failing, count(*) as pending,
               extract(epoch from min(d.due_at) filter (where d.due_at <= now())) as since
          from delivery d
          join webhook_endpoint e on e.id = d.endpoint_id and e.disabled_at is null
          join reseller r on r.id = e.reseller_id and r.disabled_at is null
         where d.state = 'pending'
         group by 1
        union all
        select e.failures > 0, 0, extract(epoch from min(w.recorded_at))
          from webhook_endpoint e
          join reseller r on r.id = e.reseller_id and r.disabled_at is null
          join watch_change w on w.reseller_id = e.reseller_id and w.seq = e.cursor_seq + 1
         where e.disabled_at is null
         group by 1
      )
      select coalesce(sum(pending), 0)::bigint as pending,
             (min(since) filter (where not failing))::float8 as healthy,
             (min(since) filter (where failing))::float8 as failing,
             (select count(*) from delivery where state = 'dead') as dead,
             (select coalesce(jsonb_object_agg(reason, endpoints), '{}')
                from (select disabled_reason as reason, count(*) as endpoints
                        from webhook_endpoint e
                        join reseller r on r.id = e.reseller_id and r.disabled_at is null
                       where e.disabled_at is not null
                       group by 1) d) as disabled
        from waiting
    `,
    db,
  )
  return { ...counts, oldest: { healthy, failing } }
}

/** Sets the gauges of deliveries from the database. */
export async function readDeliveryGauges(db: Db, metrics: Metrics): Promise<void> {
  const { pending, dead, oldest, disabled } = await readDeliveryState(db)
  metrics.webhookPending.set(pending)
  metrics.webhookDead.set(dead)
  metrics.webhookOldestPending.set({ endpoints: 'healthy' }, oldest.healthy ?? 0)
  metrics.webhookOldestPending.set({ endpoints: 'failing' }, oldest.failing ?? 0)
  for (const reason of DISABLED_REASONS) {
    metrics.webhookDisabled.set({ reason }, disabled[reason] ?? 0)
  }
}
