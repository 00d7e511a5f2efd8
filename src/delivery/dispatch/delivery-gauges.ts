import { DISABLED_REASONS, type DisabledReason } from '../../platform/base/kinds.ts'
import type { ResellerId } from '../../platform/base/reseller-id.ts'
import { type Db, sql } from '../../platform/db/database.ts'
import { selectOne } from '../../platform/db/transaction.ts'
import type { Metrics } from '../../platform/metrics/metrics.ts'
import { FAILS_FOR_HOURS } from '../endpoints/endpoint-queries.ts'
import { REQUESTS } from './claim-deliveries.ts'

/**
 * `failing`: the last attempt failed, or the receiver requested a pause. `busy`: as many requests as an endpoint
 * may have are in progress, so what waits is waiting for its receiver. `healthy`: all others.
 */
const ENDPOINT_CONDITIONS = ['healthy', 'busy', 'failing'] as const
type EndpointCondition = (typeof ENDPOINT_CONDITIONS)[number]

/** The state of all deliveries to enabled endpoints of enabled resellers. */
export interface DeliveryState {
  readonly pending: number
  readonly dead: number
  /** How many deliveries ended without success in the last hour. */
  readonly diedLastHour: number
  /** How many enabled endpoints have had no success for hours. */
  readonly failingForHours: number
  /** How many endpoints are enabled, by condition. */
  readonly endpoints: Readonly<Record<EndpointCondition, number>>
  /**
   * Since when the longest-waiting delivery is due, in seconds since 1970, by the condition of its endpoint; null
   * if none waits. Replayed deliveries do not count: many of them may wait for their turn.
   */
  readonly oldest: Readonly<Record<EndpointCondition, number | null>>
  /** When the oldest record was written that has not reached an enabled endpoint, failing ones included. */
  readonly oldestPendingAt: Date | null
  /** How many endpoints receive nothing, by reason. */
  readonly disabled: Readonly<Partial<Record<DisabledReason, number>>>
}

interface Row extends Omit<DeliveryState, 'endpoints' | 'oldest'> {
  readonly endpoints: Readonly<Partial<Record<EndpointCondition, number>>>
  readonly oldest: Readonly<Partial<Record<EndpointCondition, number>>>
}

/**
 * Reads the state of the deliveries, of all resellers or of one. A record that the fan-out has not reached waits too,
 * and not for its receiver.
 */
export async function readDeliveryState(db: Db, resellerId?: ResellerId): Promise<DeliveryState> {
  const own = resellerId === undefined ? sql`true` : sql`e.reseller_id = ${resellerId}`
  const { endpoints, oldest, ...counts } = await selectOne(
    sql<Row>`
      with enabled as (
        select e.reseller_id, e.cursor_seq, d.pending, d.recorded_at, ${FAILS_FOR_HOURS} as fails_for_hours,
               case when e.failures > 0 or e.held_until > now() then 'failing'
                    when d.sending >= case when e.last_success_at is null then 1 else ${REQUESTS} end then 'busy'
                    else 'healthy' end as condition,
               case when d.due_at is not null then greatest(d.due_at, e.held_until) end as since
          from webhook_endpoint e
          join reseller r on r.id = e.reseller_id and r.disabled_at is null
          left join (select endpoint_id, count(*) as pending, min(recorded_at) as recorded_at,
                            count(*) filter (where claim_id is not null and due_at > now()) as sending,
                            min(due_at) filter (where due_at <= now() and not replayed) as due_at
                       from delivery
                      where state = 'pending' and endpoint_id in (select e.id from webhook_endpoint e where ${own})
                      group by endpoint_id) d on d.endpoint_id = e.id
         where e.disabled_at is null and ${own}
      ), waiting as (
        select condition, since from enabled where since is not null
        union all
        select case condition when 'busy' then 'healthy' else condition end, w.recorded_at
          from enabled e
         cross join lateral (
           select recorded_at from watch_change
            where reseller_id = e.reseller_id and seq > e.cursor_seq
            order by seq
            limit 1) w
      )
      select (select coalesce(sum(pending), 0)::bigint from enabled) as pending,
             (select min(recorded_at) from enabled) as "oldestPendingAt",
             (select count(*) from enabled where fails_for_hours and pending > 0) as "failingForHours",
             died.*,
             (select coalesce(jsonb_object_agg(condition, n), '{}')
                from (select condition, count(*) as n from enabled group by 1) c) as endpoints,
             (select coalesce(jsonb_object_agg(condition, since), '{}')
                from (select condition, extract(epoch from min(since))::float8 as since from waiting group by 1) w) as oldest,
             (select coalesce(jsonb_object_agg(reason, n), '{}')
                from (select disabled_reason as reason, count(*) as n
                        from webhook_endpoint e
                        join reseller r on r.id = e.reseller_id and r.disabled_at is null
                       where e.disabled_at is not null and ${own}
                       group by 1) d) as disabled
        from (select count(*) as dead, count(*) filter (where d.ended_at > now() - interval '1 hour') as "diedLastHour"
                from delivery d
                join webhook_endpoint e on e.id = d.endpoint_id
               where d.state = 'dead' and ${own}) died
    `,
    db,
  )
  return {
    ...counts,
    endpoints: { healthy: 0, busy: 0, failing: 0, ...endpoints },
    oldest: { healthy: null, busy: null, failing: null, ...oldest },
  }
}

/** Sets the gauges of deliveries from the database. */
export async function readDeliveryGauges(db: Db, metrics: Metrics): Promise<void> {
  const state = await readDeliveryState(db)
  const { oldest, disabled } = state
  metrics.webhookPending.set(state.pending)
  metrics.webhookDead.set(state.dead)
  metrics.webhookDied.set(state.diedLastHour)
  metrics.webhookFailing.set(state.failingForHours)
  for (const endpoints of ENDPOINT_CONDITIONS) {
    metrics.webhookOldestPending.set({ endpoints }, oldest[endpoints] ?? 0)
  }
  for (const reason of DISABLED_REASONS) {
    metrics.webhookDisabled.set({ reason }, disabled[reason] ?? 0)
  }
}
