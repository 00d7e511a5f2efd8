import { appendWatchDrafts, contextOf, createWatchDrafts } from '../feeds/append-records.ts'
import { type RawBuilder, sql, type Tx } from '../platform/db/database.ts'
import { isAhead } from '../platform/db/transaction.ts'
import type { FirstCheck } from '../schedule/queues.ts'

/** What the watches of a transaction's fares are notified of. */
interface Notifications {
  /** Changes that the transaction appended to the feed of all fares, by their numbers there. */
  readonly changeSeqs?: readonly number[]
  /** Fares whose belief is shown now: their watches that have not started do so. */
  readonly startingFareIds?: readonly number[]
  /** Ends of watches. */
  readonly ends?: readonly WatchEnd[]
}

interface WatchEnd {
  readonly watchId: string
  readonly eventId: string
}

/**
 * Writes the records of resellers' feeds: `watch_started` of each watch that starts, changes, and ends. Call it
 * once in a transaction, and last: it locks the feeds.
 *
 * A change reaches every watch of its fare that is not paused, has not ended and whose price thresholds pass. A watch
 * that starts with the same check receives `watch_started` alone, whose `after` shows the change already. No watch has
 * started before its fare was seen for the first time, so none receives `first_seen`.
 */
export async function notifyWatches(
  tx: Tx,
  { changeSeqs = [], startingFareIds = [], ends = [] }: Notifications,
): Promise<void> {
  if (changeSeqs.length + startingFareIds.length + ends.length === 0) return
  await createWatchDrafts(tx)
  if (startingFareIds.length > 0)
    await draftStarts(tx, { fareIds: startingFareIds, onlyFresh: false })
  if (changeSeqs.length > 0) await draftChanges(tx, changeSeqs)
  if (ends.length > 0) await draftEnds(tx, ends)
  await appendDrafts(tx)
}

/**
 * Starts the watches of these fares that have not started and whose fare has a fresh belief: no check is needed for
 * them. Returns the fares that have watches which still wait and were not asked since, each with the reseller of the last.
 *
 * The caller holds the locks of `lockTrackedFares`.
 */
export async function startFreshWatches(tx: Tx, fareIds: readonly number[]): Promise<FirstCheck[]> {
  const waiting = await findUnstarted(tx, fareIds)
  const believed = await lockBelieved(
    tx,
    waiting.map(({ fareId }) => fareId),
  )
  if (believed.length === 0) return waiting.filter(isNew)
  await createWatchDrafts(tx)
  await draftStarts(tx, { fareIds: believed, onlyFresh: true })
  await appendDrafts(tx)
  return (await findUnstarted(tx, fareIds)).filter(isNew)
}

interface UnstartedFare extends FirstCheck {
  /** Whether the fare was asked since the last of the watches began. */
  readonly isAsked: boolean
}

const isNew = ({ isAsked }: UnstartedFare) => !isAsked

/** The fares of watches that wait to start, with the reseller of the watch that began last. */
async function findUnstarted(tx: Tx, fareIds: readonly number[]): Promise<UnstartedFare[]> {
  const { rows } = await sql<UnstartedFare>`
    select distinct on (w.tracked_fare_id) w.tracked_fare_id as "fareId", w.reseller_id as "resellerId",
           coalesce(s.last_check_at > w.began_at, false) as "isAsked"
      from watch w
      join reseller r on r.id = w.reseller_id and r.disabled_at is null
      left join fare_state s using (tracked_fare_id)
     where w.tracked_fare_id = any(${fareIds}::bigint[])
       and w.started_at is null and w.paused_at is null and w.ended_at is null
     order by w.tracked_fare_id, w.began_at desc, w.id
  `.execute(tx)
  return rows
}

/**
 * Locks the beliefs of the fares that had a good check: an on-demand check may be recording one at this moment, of
 * a fare that had no active watch until now and so no row of the schedule to lock.
 */
async function lockBelieved(tx: Tx, fareIds: readonly number[]): Promise<number[]> {
  if (fareIds.length === 0) return []
  const believed = await tx
    .selectFrom('fare_state')
    .select('tracked_fare_id as id')
    .where(sql<boolean>`tracked_fare_id = any(${fareIds}::bigint[])`)
    .where('expired_at', 'is', null)
    .where('last_good_check_at', 'is not', null)
    .orderBy('tracked_fare_id')
    .forShare()
    .execute()
  return believed.map(({ id }) => id)
}

/**
 * The belief of a fare from its row `s` of fare_state, which a check has written and which has not expired, without
 * a price that no check has shown since `freshSince`, or that a mass holds; it says why. In SQL, so that an import
 * can start many thousand watches in one statement.
 */
export function shownBelief(freshSince: RawBuilder<Date>): RawBuilder<unknown> {
  return sql`
    case when s.price_checked_at >= ${freshSince} and coalesce(s.price_reason, '') <> 'held' then s.state -> 'belief'
         else (s.state -> 'belief') || jsonb_build_object(
                'price', null,
                'outbound', (s.state #> '{belief,outbound}') || '{"price": null}',
                'return', case when s.return is not null then (s.state #> '{belief,return}') || '{"price": null}' end)
              || case when s.pair = 'bookable' then jsonb_build_object('priceReason', coalesce(s.price_reason, 'stale'))
                      else '{}' end end
  `
}

/**
 * Drafts one event a fare, which its starting watches share.
 *
 * The planner has no statistics on rows that this transaction wrote, but it knows the size of a temporary table: by two
 * joined CTEs, 50,000 watches take longer than a minute. So they do with the list of fares as a condition on `s`,
 * which the index on it would read again for every watch.
 *
 * @param onlyFresh whether the belief must be fresh for the watch; otherwise any belief starts it.
 */
async function draftStarts(
  tx: Tx,
  { fareIds, onlyFresh }: { fareIds: readonly number[]; onlyFresh: boolean },
): Promise<void> {
  // What the reseller of a new watch spends on the fare is not settled yet.
  const freshSince = sql<Date>`clock_timestamp() - fresh_for(null)`
  const isFresh = onlyFresh
    ? sql`s.last_good_check_at >= ${freshSince} and s.hidden is null and not ${isAhead(sql`s.last_good_check_at`)}`
    : sql`true`
  await sql`
    insert into watch_change_draft (reseller_id, watch_id, reference, fare_id, watch_event_id)
    select w.reseller_id, w.id, w.reference, w.tracked_fare_id,
           first_value(uuidv7()) over (partition by w.tracked_fare_id)
      from fare_state s
      join watch w on w.tracked_fare_id = s.tracked_fare_id and w.started_at is null
      join reseller r on r.id = w.reseller_id and r.disabled_at is null
     where w.tracked_fare_id = any(${fareIds}::bigint[])
       and w.paused_at is null and w.ended_at is null
       and ${isFresh}
  `.execute(tx)
  await sql`
    insert into watch_event (id, kind, tracked_fare_id, after, detected_at, context)
    select d.id, 'watch_started', s.tracked_fare_id, b.after, coalesce(s.last_good_check_at, s.asked_at), ${contextOf(sql`s.tracked_fare_id`, sql`b.after`)}
      from (select distinct fare_id, watch_event_id as id from watch_change_draft) d
      join fare_state s on s.tracked_fare_id = d.fare_id
     cross join lateral (select ${shownBelief(freshSince)} as after) b
  `.execute(tx)
  await sql`
    with priced as materialized (
      select w.id as watch_id, i.met, i.notified, ${SAVING} as saving
        from watch_change_draft d
        join watch_event e on e.id = d.watch_event_id
        join watch w on w.id = d.watch_id and ${HAS_INTENTS}
       cross join lateral (select (e.after #>> '{price,amount}')::numeric as amount, e.after #>> '{price,currency}' as currency) p
       cross join lateral (select '{}'::text[] as intents) notified
       cross join lateral (${INTENTS}) i
    ), notified as (
      update watch w set intents_notified = t.notified
        from priced t
       where w.id = t.watch_id and w.intents_notified <> t.notified
    )
    update watch_change_draft d
       set intents = t.met, saving = t.saving
      from priced t
     where d.watch_id = t.watch_id
  `.execute(tx)
}

/**
 * The step of the price from the last record of a watch to change `c`, as columns, and whether it passes the thresholds
 * of the watch. `w` has them and the price of that record; the columns are named `p`.
 *
 * Price thresholds are measured from the price of the watch's last record, so that a price that creeps is reported once
 * it has moved far enough; before the first record with a price, from the price before the change. Amounts of different
 * currencies are never compared: another currency passes, and so does the first price after a record that had none.
 */
export const PRICE_STEP = {
  columns: sql`
    select s.*, abs(s.amount - s.from_amount) as difference
      from (select (c.after #>> '{price,amount}')::numeric as amount, c.after #>> '{price,currency}' as currency,
                   coalesce(w.last_notified_amount, (c.before #>> '{price,amount}')::numeric) as from_amount,
                   coalesce(w.last_notified_currency, c.before #>> '{price,currency}') as from_currency) s
  `,
  passes: sql`
    (c.kind <> 'price_changed'
     or p.from_amount is null
     or p.currency is distinct from p.from_currency
     or p.difference > 0
        and (w.price_threshold_amount is null and w.price_threshold_percent is null
             or coalesce(p.difference >= w.price_threshold_amount, false)
             or coalesce(p.difference * 100 >= w.price_threshold_percent * p.from_amount, false)))
  `,
} as const

/** The target of an intent: a price below it is notified, and again after the price was a hundredth above. */
interface Target {
  readonly name: 'priceBelow' | 'priceDrop'
  readonly currency: RawBuilder<string>
  readonly amount: RawBuilder<number>
  readonly isMet: RawBuilder<boolean>
}

const DROP_AMOUNT = sql<number>`coalesce(w.paid_amount - w.price_drop_amount, w.paid_amount * (1 - w.price_drop_percent / 100))`
const TARGETS: readonly Target[] = [
  {
    name: 'priceBelow',
    currency: sql`w.price_below_currency`,
    amount: sql`w.price_below_amount`,
    isMet: sql`p.amount < w.price_below_amount`,
  },
  {
    name: 'priceDrop',
    currency: sql`w.paid_currency`,
    amount: DROP_AMOUNT,
    isMet: sql`p.amount <= ${DROP_AMOUNT}`,
  },
]

/** A price in another currency, or none, shows nothing of a target. */
function staysNotified({ name, currency, amount, isMet }: Target): RawBuilder<boolean> {
  const wasNotified = sql`${sql.lit(name)} = any(notified.intents)`
  return sql`
    case when coalesce(p.currency = ${currency}, false) then ${isMet} or ${wasNotified} and p.amount < 1.01 * ${amount}
         else ${wasNotified} end
  `
}

/** Whether the price is below all of the last days of watch `w`, and the history of the fare has them. */
const IS_NEW_LOW = sql`
  coalesce(p.amount < (select min(v.price)
                         from fare_belief_version v
                        where v.tracked_fare_id = w.tracked_fare_id and v.currency = p.currency
                          and v.valid_to > now() - make_interval(days => w.new_low_days)), false)
  and exists (select from fare_belief_version v
               where v.tracked_fare_id = w.tracked_fare_id and v.valid_from <= now() - make_interval(days => w.new_low_days))
`

const arrayOf = (names: readonly RawBuilder<unknown>[]) =>
  sql`array_remove(array[${sql.join(names)}]::text[], null)`

/**
 * What watch `w`, of which `notified` has the intents that were notified, wants of price `p`: the intents that are met now, what
 * the price is below the paid one, and the intents that are notified from now on.
 */
const INTENTS = sql`
  select ${arrayOf([
    ...TARGETS.map((target) => {
      const name = sql.lit(target.name)
      return sql`case when ${staysNotified(target)} and not ${name} = any(notified.intents) then ${name} end`
    }),
    sql`case when w.new_low_days is not null and ${IS_NEW_LOW} then 'newLowDays' end`,
  ])} as met,
  ${arrayOf(TARGETS.map((target) => sql`case when ${staysNotified(target)} then ${sql.lit(target.name)} end`))} as notified
`

const SAVING = sql`case when 'priceDrop' = any(i.met) then w.paid_amount - p.amount end`

const HAS_INTENTS = sql<boolean>`num_nonnulls(w.price_below_amount, w.paid_amount, w.new_low_days) > 0`

/** Intents are about a price that changed: of several records of a fare in one transaction, by one of them. */
const isOfPrice = (changeSeqs: readonly number[]) => sql`
  c.after -> 'price' is distinct from c.before -> 'price'
  and c.seq = (select x.seq
                 from availability_change x
                where x.seq = any(${changeSeqs}::bigint[]) and x.tracked_fare_id = c.tracked_fare_id
                order by x.kind = 'price_changed' desc, x.seq
                limit 1)
`

async function draftChanges(tx: Tx, changeSeqs: readonly number[]): Promise<void> {
  await sql`
    with priced as materialized (
      select w.reseller_id, w.id as watch_id, w.reference, c.id as change_id, c.seq as change_seq, i.met, i.notified, ${SAVING} as saving,
             case when c.kind = 'price_changed' then p.from_amount end as from_amount,
             case when c.kind = 'price_changed' then p.from_currency end as from_currency,
             case when c.kind = 'price_changed' and ${HAS_INTENTS} then cardinality(i.met) > 0 else ${PRICE_STEP.passes} end as passes
        from availability_change c
        join watch w on w.tracked_fare_id = c.tracked_fare_id
        join reseller r on r.id = w.reseller_id
       cross join lateral (${PRICE_STEP.columns}) p
       cross join lateral (select w.intents_notified as intents) notified
       cross join lateral (
             select coalesce(o.met, '{}') as met, o.notified
               from (select) one left join (${INTENTS}) o on ${HAS_INTENTS} and ${isOfPrice(changeSeqs)}) i
       where c.seq = any(${changeSeqs}::bigint[]) and c.kind <> 'first_seen'
         and w.paused_at is null and r.disabled_at is null and w.ended_at is null
         and not exists (select from watch_change_draft d where d.watch_id = w.id)
    ), notified as (
      update watch w set intents_notified = t.notified
        from priced t
       where w.id = t.watch_id and w.intents_notified <> t.notified
    )
    insert into watch_change_draft (reseller_id, watch_id, reference, change_id, change_seq, intents, saving, notified_amount, notified_currency)
    select reseller_id, watch_id, reference, change_id, change_seq, met, saving, from_amount, from_currency
      from priced
     where passes
  `.execute(tx)
}

async function draftEnds(tx: Tx, ends: readonly WatchEnd[]): Promise<void> {
  await sql`
    insert into watch_change_draft (reseller_id, watch_id, reference, watch_event_id)
    select w.reseller_id, w.id, w.reference, e.event_id
      from unnest(${ends.map((end) => end.watchId)}::uuid[], ${ends.map((end) => end.eventId)}::uuid[])
           e (watch_id, event_id)
      join watch w on w.id = e.watch_id
  `.execute(tx)
}

/** Appends the drafts, and keeps with each watch the price of its last record and whether it has started. */
async function appendDrafts(tx: Tx): Promise<void> {
  if ((await appendWatchDrafts(tx)) === 0) return
  await sql`
    update watch w
       set last_notified_amount = n.amount,
           last_notified_currency = n.currency,
           started_at = case when n.starts then clock_timestamp() else w.started_at end
      from (select d.watch_id,
                   (array_agg((a.after #>> '{price,amount}')::numeric order by d.change_seq desc))[1] as amount,
                   (array_agg(a.after #>> '{price,currency}' order by d.change_seq desc))[1] as currency,
                   bool_or(e.kind = 'watch_started') as starts
              from watch_change_draft d
              left join availability_change c on c.id = d.change_id
              left join watch_event e on e.id = d.watch_event_id
             cross join lateral (select coalesce(c.after, e.after) as after) a
             group by d.watch_id) n
     where w.id = n.watch_id
       and (n.starts or (w.last_notified_amount, w.last_notified_currency) is distinct from (n.amount, n.currency))
  `.execute(tx)
}
