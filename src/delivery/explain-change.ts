import type { AvailabilityChangeKind, ChangeReason, DeliveryState } from '../platform/base/kinds.ts'
import type { Money } from '../platform/base/money.ts'
import { type Db, sql } from '../platform/db/database.ts'
import { PRICE_STEP } from '../watches/notify-watches.ts'
import { FILTERS } from './dispatch/fan-out.ts'

/** Why a watch has no record of a change, or that it has one. The first one that applies counts. */
export const WATCH_STEPS = [
  'recorded',
  'reseller_disabled',
  'not_watched_then',
  'paused',
  'ended',
  'started_with_it',
  'below_threshold',
  'unexplained',
] as const

/** What became of a record at an endpoint. The first one that applies counts. */
export const ENDPOINT_STEPS = [
  'pending',
  'delivered',
  'dead',
  'endpoint_disabled',
  'not_sent_yet',
  'endpoint_is_newer',
  'filtered',
  'unexplained',
] as const

interface ExplainedChange {
  readonly seq: number
  readonly kind: AvailabilityChangeKind
  readonly reason: ChangeReason | null
  readonly trackedFareId: number
  readonly recordedAt: Date
  /** Since when a mass had held it; null if none had. */
  readonly heldSince: Date | null
}

export interface ExplainedWatch {
  readonly list: string
  readonly reference: string
  readonly step: (typeof WATCH_STEPS)[number]
  /** The number of the record in the feed of the reseller; null without one. */
  readonly seq: number | null
  /** Since when what the step says was so; null where it has no instant. */
  readonly since: Date | null
  /** The price of the last record before, from which the thresholds are measured, and that of the change. */
  readonly from: Money | null
  readonly to: Money | null
  readonly priceThresholdAmount: string | null
  readonly priceThresholdPercent: string | null
}

export interface ExplainedEndpoint {
  readonly seq: number
  readonly endpointId: string
  readonly target: string
  readonly step: (typeof ENDPOINT_STEPS)[number]
  /** Which of its filters the record does not pass. */
  readonly filters: readonly (keyof typeof FILTERS)[]
  readonly deliveryId: string | null
  readonly attempts: number | null
  /** Whether it waits for the next digest and was not tried yet. */
  readonly waitsForDigest: boolean
  /** When the next attempt is due, or when the delivery or the endpoint ended. */
  readonly at: Date | null
}

export interface Explanation {
  readonly change: ExplainedChange
  /** The watches that the reseller has of the fare now. None: it does not watch the fare, or has deleted its watches. */
  readonly watches: readonly ExplainedWatch[]
  /** Each record of the change at each endpoint that the reseller has now. */
  readonly endpoints: readonly ExplainedEndpoint[]
}

/**
 * Says for one change of a fare and one reseller which step of the rule ended it: the watches, their thresholds, the
 * endpoints and their filters, the deliveries. Settings are the present ones. Undefined if the feed has no such change.
 */
export async function explainChange(
  db: Db,
  { seq, resellerId }: { readonly seq: number; readonly resellerId: number },
): Promise<Explanation | undefined> {
  const { rows } = await sql<ExplainedChange>`
    select seq, kind, reason, tracked_fare_id as "trackedFareId", recorded_at as "recordedAt", held_since as "heldSince"
      from availability_change
     where seq = ${seq}
  `.execute(db)
  const [change] = rows
  if (change === undefined) return undefined
  const [watches, endpoints] = await Promise.all([
    explainWatches(db, { seq, resellerId }),
    explainEndpoints(db, { seq, resellerId }),
  ])
  return { change, watches, endpoints }
}

type Chosen = { readonly seq: number; readonly resellerId: number }

/** A watch keeps the price of its last record alone. What it was at change `c` follows from the records of watch `o` before it. */
const LAST_PRICE = sql`
  select (p.after #>> '{price,amount}')::numeric as amount, p.after #>> '{price,currency}' as currency
    from (select b.after, t.recorded_at
            from availability_change b
            join watch_change t on t.change_id = b.id and t.watch_id = o.id
           where b.tracked_fare_id = c.tracked_fare_id and b.seq < c.seq
           union all
          select v.after, t.recorded_at
            from started v
            join watch_change t on t.watch_event_id = v.id and t.watch_id = o.id) p
   where p.recorded_at between o.began_at and c.recorded_at
   order by p.recorded_at desc
   limit 1
`

async function explainWatches(db: Db, { seq, resellerId }: Chosen): Promise<ExplainedWatch[]> {
  const { rows } = await sql<ExplainedWatch>`
    with started as materialized (
      select v.id, v.after
        from watch_event v
       where v.kind = 'watch_started'
         and v.tracked_fare_id = (select tracked_fare_id from availability_change where seq = ${seq}))
    select l.name as list, w.reference, s.step, t.seq, s.since,
           case when p.from_amount is not null
                then jsonb_build_object('amount', p.from_amount::text, 'currency', p.from_currency) end as from,
           nullif(c.after -> 'price', 'null') as to,
           w.price_threshold_amount::text as "priceThresholdAmount", w.price_threshold_percent::text as "priceThresholdPercent"
      from availability_change c
      join watch o on o.tracked_fare_id = c.tracked_fare_id and o.reseller_id = ${resellerId}
      join watch_list l on l.id = o.watch_list_id
      join reseller r on r.id = o.reseller_id
      left join lateral (${LAST_PRICE}) known on true
     cross join lateral (
           select o.reference, o.price_threshold_amount, o.price_threshold_percent,
                  known.amount as last_notified_amount, known.currency as last_notified_currency) w
     cross join lateral (${PRICE_STEP.columns}) p
      left join watch_change t on t.change_id = c.id and t.watch_id = o.id and t.reseller_id = o.reseller_id
     cross join lateral (
           select * from (values
             ('recorded', t.seq is not null, t.recorded_at),
             ('reseller_disabled', r.disabled_at <= c.recorded_at, r.disabled_at),
             ('not_watched_then', o.began_at > c.recorded_at, o.began_at),
             ('paused', o.paused_at <= c.recorded_at, o.paused_at),
             ('ended', o.ended_at <= c.recorded_at, o.ended_at),
             ('started_with_it', coalesce(o.started_at >= c.recorded_at, true), o.started_at),
             ('below_threshold', not coalesce(${PRICE_STEP.passes}, false), null),
             ('unexplained', true, null)) steps (step, applies, since)
            where applies
            limit 1) s
     where c.seq = ${seq}
     order by l.name, w.reference
     limit ${MAX_EXPLAINED}
  `.execute(db)
  return rows
}

async function explainEndpoints(db: Db, { seq, resellerId }: Chosen): Promise<ExplainedEndpoint[]> {
  const failed = Object.entries(FILTERS).map(
    ([name, passes]) => sql`case when not coalesce(${passes}, false) then ${sql.lit(name)} end`,
  )
  const { rows } = await sql<ExplainedEndpoint & { readonly state: DeliveryState | null }>`
    select w.seq, e.id as "endpointId", e.target_shown as target, s.step,
           case when s.step = 'filtered' then f.filters else '{}' end as filters,
           d.id as "deliveryId", d.attempts, coalesce(d.state = 'pending' and d.attempts = 0 and e.digest is not null, false) as "waitsForDigest",
           s.at
      from availability_change c
      join watch_change w on w.change_id = c.id and w.reseller_id = ${resellerId}
      join webhook_endpoint e on e.reseller_id = w.reseller_id
      left join delivery d on d.endpoint_id = e.id and d.seq = w.seq
      left join watch own on own.id = w.watch_id and own.reseller_id = w.reseller_id
      left join watch_list l on l.id = own.watch_list_id
     cross join lateral (select array_remove(array[${sql.join(failed)}], null) as filters) f
     cross join lateral (
           select * from (values
             (d.state, d.state is not null, coalesce(d.due_at, d.ended_at)),
             ('endpoint_disabled', e.cursor_seq < w.seq and e.disabled_at is not null, e.disabled_at),
             ('not_sent_yet', e.cursor_seq < w.seq, null),
             ('endpoint_is_newer', e.created_at > w.recorded_at, e.created_at),
             ('filtered', cardinality(f.filters) > 0, null),
             ('unexplained', true, null)) steps (step, applies, at)
            where applies
            limit 1) s
     where c.seq = ${seq}
     order by w.seq, e.created_at, e.id
     limit ${MAX_EXPLAINED}
  `.execute(db)
  return rows
}

/** A fare may have thousands of watches of one reseller. */
const MAX_EXPLAINED = 1_000
