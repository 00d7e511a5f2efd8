import { span } from '../../platform/base/tracing.ts'
import { type Db, type RawBuilder, sql, type Tx } from '../../platform/db/database.ts'
import { inTransaction, WITHOUT_WAITING_FOR_DISK } from '../../platform/db/transaction.ts'
import { nextSendAt, type SendTimes } from '../endpoints/endpoint-settings.ts'

/** How many records of its feed an endpoint advances in one transaction. */
const STEP = 2_000
/** How many endpoints advance in one transaction. */
const ENDPOINTS = 100

/**
 * Writes a delivery for every record that passes the filters of an enabled endpoint, and advances the endpoint's
 * cursor in the same transaction. Returns whether there is more to do.
 *
 * Processes that call it at the same time wait for each other's rows and then find nothing to do.
 */
export async function fanOut(db: Db): Promise<boolean> {
  return span('fan-out', {}, (annotate) =>
    inTransaction(db, async (tx) => {
      const behind = await lockBehind(tx)
      annotate({ 'farewatch.endpoints': behind.length })
      if (behind.length === 0) return false
      const steps = sql`
        unnest(${behind.map(({ id }) => id)}::uuid[], ${behind.map(({ through }) => through)}::bigint[],
               ${behind.map((one) => nextSendAt(one, one.now))}::timestamptz[])
          as b (id, through, due_at)
      `
      await insertDeliveries(tx, steps)
      await advanceCursors(tx, steps)
      return behind.length === ENDPOINTS || behind.some(({ head, through }) => through < head)
    }),
  )
}

interface BehindEndpoint extends SendTimes {
  readonly id: string
  /** The last number of its reseller's feed. Every record up to it is committed. */
  readonly head: number
  /** The number to which its cursor advances. */
  readonly through: number
  readonly now: Date
}

/**
 * Locks endpoints whose cursor is behind their feed, in the order of their ids, so that no two processes deadlock.
 * They are drawn at random: if more are always behind than one transaction takes, each has its turn.
 */
async function lockBehind(tx: Tx): Promise<BehindEndpoint[]> {
  const { rows } = await sql<BehindEndpoint>`
    select e.id, r.last_seq as head,
           coalesce((select max(seq)
                       from (select seq from watch_change
                              where reseller_id = e.reseller_id and seq > e.cursor_seq
                              order by seq limit ${STEP}) step), r.last_seq) as through, e.digest, e.quiet_hours as "quietHours", now(), ${WITHOUT_WAITING_FOR_DISK}
      from webhook_endpoint e
      join reseller r on r.id = e.reseller_id and r.disabled_at is null
     where e.disabled_at is null and e.cursor_seq < r.last_seq
       and e.id in (select behind.id
                      from webhook_endpoint behind
                      join reseller own on own.id = behind.reseller_id and own.disabled_at is null
                     where behind.disabled_at is null and behind.cursor_seq < own.last_seq
                     order by random()
                     limit ${ENDPOINTS})
     order by e.id
       for no key update of e
  `.execute(tx)
  return rows
}

/**
 * The rules of endpoint `e` for a record with `kind`, `reason`, `before` and `after`. A price enters the range if it is
 * below the amount now and was not before; a price in another currency never does.
 */
const PASSES_RULES = sql`
  (e.rules is null
   or e.rules ? 'soldOut' and c.kind = 'became_unavailable' and c.reason = 'sold_out'
   or e.rules ? 'bookable' and c.kind = 'became_available'
   or e.rules ? 'priceBelow' and ${isBelow('after')} and not ${isBelow('before')})
`

function isBelow(state: 'before' | 'after'): RawBuilder<boolean> {
  const price = sql`${sql.ref(`c.${state}`)} -> 'price'`
  return sql<boolean>`
    coalesce(${price} ->> 'currency' = e.rules -> 'priceBelow' ->> 'currency'
             and (${price} ->> 'amount')::numeric < (e.rules -> 'priceBelow' ->> 'amount')::numeric, false)
  `
}

/**
 * The filters of endpoint `e` for record `w` of what happened, `c`, to a watch whose list is `l`. Without kinds, changes of
 * routes do not pass.
 */
export const FILTERS = {
  kinds: sql`coalesce(c.kind = any(e.kinds), w.route_seq is null)`,
  reasons: sql`(e.reasons is null or coalesce(c.reason = any(e.reasons), false))`,
  lists: sql`(e.lists is null or coalesce(coalesce(l.name, w.list) = any(e.lists), false))`,
  rules: PASSES_RULES,
} as const

async function insertDeliveries(tx: Tx, steps: RawBuilder<unknown>): Promise<void> {
  await sql`
    insert into delivery (endpoint_id, seq, previous_seq, recorded_at, due_at)
    select e.id, w.seq,
           lag(w.seq, 1, e.last_passed_seq) over (partition by e.id order by w.seq),
           w.recorded_at, b.due_at
      from ${steps}
      join webhook_endpoint e on e.id = b.id
      join watch_change w on w.reseller_id = e.reseller_id and w.seq > e.cursor_seq and w.seq <= b.through
      join lateral (
        select c.kind, c.reason, c.before, c.after from availability_change c where c.id = w.change_id
        union all
        select v.kind, v.reason, v.before, v.after from watch_event v where v.id = w.watch_event_id
        union all
        select n.kind, null, n.before, n.after from route_change n where n.seq = w.route_seq
      ) c on true
      left join watch own on own.id = w.watch_id and own.reseller_id = w.reseller_id
      left join watch_list l on l.id = own.watch_list_id
     where ${sql.join(Object.values(FILTERS), sql` and `)}
     order by w.seq
  `.execute(tx)
}

async function advanceCursors(tx: Tx, steps: RawBuilder<unknown>): Promise<void> {
  await sql`
    update webhook_endpoint e
       set cursor_seq = b.through,
           last_passed_seq = coalesce((select max(d.seq) from delivery d where d.endpoint_id = e.id and d.seq > e.cursor_seq),
                                      e.last_passed_seq)
      from ${steps}
     where e.id = b.id
  `.execute(tx)
}
