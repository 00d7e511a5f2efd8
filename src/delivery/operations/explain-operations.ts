import { type Static, Type } from 'typebox'
import { AvailabilityChangeKind, Price, RecordParams } from '../../feeds/change-shapes.ts'
import { readFeedBounds, throwMissing } from '../../feeds/feed-bounds.ts'
import { CHANGE_REASONS } from '../../platform/base/kinds.ts'
import { type Db, sql } from '../../platform/db/database.ts'
import { operations } from '../../platform/http/operation.ts'
import { Instant, object, oneOf, orNull } from '../../platform/http/schemas.ts'
import { requireReseller } from '../../resellers/resellers.ts'
import { PRICE_STEP } from '../../watches/notify-watches.ts'
import { FILTERS } from '../dispatch/fan-out.ts'

/** Why a watch has no record of a change, or that it has one. The first one that applies counts. */
const WATCH_STEPS = [
  'recorded',
  'reseller_disabled',
  'not_watched_then',
  'paused',
  'ended',
  'started_with_it',
  'no_intent_met',
  'below_threshold',
  'unexplained',
] as const

/** What became of a record at an endpoint. The first one that applies counts. */
const ENDPOINT_STEPS = [
  'pending',
  'delivered',
  'dead',
  'endpoint_disabled',
  'not_sent_yet',
  'endpoint_is_newer',
  'filtered',
  'unexplained',
] as const

const { operator } = operations<{ readonly db: Db }>()

const MaybeInstant = orNull(Instant)
const MaybeId = orNull(Type.String({ format: 'uuid' }))

const Explanation = object(
  {
    change: object({
      seq: Type.Integer(),
      kind: AvailabilityChangeKind,
      reason: orNull(oneOf(CHANGE_REASONS, { title: 'ChangeReason' })),
      fareId: Type.Integer(),
      recordedAt: Instant,
      heldSince: orNull(Instant, 'Since when a mass had held the change. Null if none had.'),
    }),
    watches: Type.Array(
      object({
        list: Type.String(),
        reference: Type.String(),
        step: oneOf(WATCH_STEPS),
        seq: orNull(Type.Integer(), 'The number of the record in the feed of the reseller.'),
        since: MaybeInstant,
        from: orNull(Price, 'The price from which the thresholds are measured.'),
        to: orNull(Price),
        priceThresholdAmount: orNull(Type.String()),
        priceThresholdPercent: orNull(Type.String()),
      }),
      { description: 'The watches that the reseller has of the fare now.' },
    ),
    endpoints: Type.Array(
      object({
        seq: Type.Integer(),
        endpointId: Type.String({ format: 'uuid' }),
        target: Type.String(),
        step: oneOf(ENDPOINT_STEPS),
        filters: Type.Array(oneOf(['kinds', 'reasons', 'lists', 'rules']), {
          description: 'The filters that the record does not pass.',
        }),
        deliveryId: MaybeId,
        attemptCount: orNull(Type.Integer()),
        waitsForDigest: Type.Boolean(),
        at: orNull(Instant, 'When the next attempt is due, or when the step ended it.'),
      }),
      { description: 'Each record of the change at each endpoint that the reseller has now.' },
    ),
  },
  { title: 'ChangeExplanation' },
)
export type Explanation = Static<typeof Explanation>

export const explain = operator({
  id: 'explainChange',
  method: 'GET',
  path: '/api/v1/availability-changes/{seq}/resellers/{reseller}',
  tag: 'Operators',
  summary: 'Explain why a reseller was notified of a change, or was not',
  description:
    'For each watch and each endpoint, `step` is where the rule ended, by the present settings. With no watches, the reseller ' +
    'does not watch the fare, or has deleted its watches.',
  scope: 'operate',
  params: object({
    ...RecordParams.properties,
    reseller: Type.String({ minLength: 1, maxLength: 200, description: 'Its name.' }),
  }),
  answer: { about: 'The steps.', schema: Explanation },
  problems: ['not_found', 'changes.archived'],
  example: { params: { seq: '1', reseller: 'alpha' } },
  handler: async ({ db }, { params: { seq, reseller: name } }) => {
    const { id: resellerId } = await requireReseller(db, name)
    const explanation = await explainChange(db, { seq, resellerId })
    if (explanation !== undefined) return explanation
    throwMissing(await readFeedBounds(db, 'availability'), seq)
  },
})

/**
 * Says for one change of a fare and one reseller which step of the rule ended it: the watches, their thresholds, the
 * endpoints and their filters, the deliveries. Settings are the present ones. Undefined if the feed has no such change.
 */
export async function explainChange(
  db: Db,
  { seq, resellerId }: { readonly seq: number; readonly resellerId: number },
): Promise<Explanation | undefined> {
  const { rows } = await sql<Explanation['change']>`
    select seq, kind, reason, tracked_fare_id as "fareId", recorded_at as "recordedAt", held_since as "heldSince"
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

async function explainWatches(
  db: Db,
  { seq, resellerId }: Chosen,
): Promise<Explanation['watches']> {
  const { rows } = await sql<Explanation['watches'][number]>`
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
     cross join lateral (select num_nonnulls(o.price_below_amount, o.paid_amount, o.new_low_days) > 0 as has_intents) h
      left join watch_change t on t.change_id = c.id and t.watch_id = o.id and t.reseller_id = o.reseller_id
     cross join lateral (
           select * from (values
             ('recorded', t.seq is not null, t.recorded_at),
             ('reseller_disabled', r.disabled_at <= c.recorded_at, r.disabled_at),
             ('not_watched_then', o.began_at > c.recorded_at, o.began_at),
             ('paused', o.paused_at <= c.recorded_at, o.paused_at),
             ('ended', o.ended_at <= c.recorded_at, o.ended_at),
             ('started_with_it', coalesce(o.started_at >= c.recorded_at, true), o.started_at),
             ('no_intent_met', c.kind = 'price_changed' and h.has_intents, null),
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

async function explainEndpoints(
  db: Db,
  { seq, resellerId }: Chosen,
): Promise<Explanation['endpoints']> {
  const failed = Object.entries(FILTERS).map(
    ([name, passes]) => sql`case when not coalesce(${passes}, false) then ${sql.lit(name)} end`,
  )
  const { rows } = await sql<Explanation['endpoints'][number]>`
    select w.seq, e.id as "endpointId", e.target_shown as target, s.step,
           case when s.step = 'filtered' then f.filters else '{}' end as filters,
           d.id as "deliveryId", d.attempts as "attemptCount", coalesce(d.state = 'pending' and d.attempts = 0 and e.digest is not null, false) as "waitsForDigest",
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
