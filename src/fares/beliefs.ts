import { isDeepStrictEqual } from 'node:util'
import type { CheckReason } from '../platform/base/kinds.ts'
import { PREPARED, sql, type Tx } from '../platform/db/database.ts'
import { isAhead } from '../platform/db/transaction.ts'
import { hold } from '../schedule/queues.ts'
import type { Observation } from '../upstream/observation.ts'
import { departsAt } from './answer.ts'
import type { Decision } from './decide.ts'
import {
  type FareState,
  heldKindOf,
  hiddenReasonOf,
  isStored,
  priceReasonOf,
  type StateRow,
  storedState,
} from './state.ts'

/** A claim, and the fares that it was made for. It holds those that no later claim has. */
export interface ClaimRef {
  readonly claimId: string
  readonly fareIds: readonly number[]
}

/** One observation of a fare, and when its request began by the database's clock. */
export interface Check {
  readonly fareId: number
  readonly askedAt: Date
  readonly why: CheckReason
  readonly observation: Observation
}

/** The belief of a fare as its history shows it. */
interface ShownBelief {
  readonly outbound: string
  readonly return: string | null
  readonly pair: string
  readonly amount: string | null
  readonly currency: string | null
}

/** A fare whose state this transaction may change. */
export interface LockedFare extends ShownBelief, StateRow {
  readonly fareId: number
  readonly state: object
  /** Whether the flights of its state are stored as columns too. */
  readonly hasFlights: boolean
  /** Whether an active watch of it waits for a good check to start. */
  readonly hasUnstartedWatch: boolean
  /** The usual time between two of its checks. */
  readonly intervalSeconds: number
  /** Why its last answers were unusable; null if the last one was not. */
  readonly lastReason: string | null
  /** Until when a mass holds the end of the fare, and since when; null where none does. */
  readonly heldUntil: Date | null
  readonly heldSince: Date | null
  /** When the request of the last counted answer began; null if that lies ahead of the database's clock. */
  readonly askedAt: Date | null
  /** The last Date of a counted answer. */
  readonly datedAt: Date | null
  /** Whether the clock was set back since that answer: then no instant of the state counts. */
  readonly isAhead: boolean
}

/**
 * Locks the fares that the claim still holds, in the order of their ids. A claim whose lease has ended, or whose fares
 * have ended, may hold none.
 */
export async function lockClaimed(tx: Tx, { claimId, fareIds }: ClaimRef): Promise<LockedFare[]> {
  const rows = await tx
    .selectFrom('fare_schedule')
    .select('tracked_fare_id as id')
    .where(sql<boolean>`tracked_fare_id = any(${fareIds}::bigint[])`)
    .where('claim_id', '=', claimId)
    .orderBy('tracked_fare_id')
    .forUpdate()
    .modifyEnd(PREPARED)
    .execute()
  return lockStates(
    tx,
    rows.map((row) => row.id),
  )
}

/**
 * Locks fares by their ids, whether or not a claim holds them. Leaves out fares that have ended: nothing is
 * recorded of them.
 */
export async function lockFares(tx: Tx, fareIds: readonly number[]): Promise<LockedFare[]> {
  // The schedule before the states, as in `lockClaimed`: transactions that meet must take their locks in one order.
  await hold(tx, fareIds)
  return lockStates(tx, fareIds)
}

/** Inserts the states of fares that have their first check. */
async function lockStates(tx: Tx, fareIds: readonly number[]): Promise<LockedFare[]> {
  const locked = await lockExisting(tx, fareIds)
  if (locked.length === fareIds.length) return locked
  await insertMissing(tx, fareIds)
  return lockExisting(tx, fareIds)
}

async function insertMissing(tx: Tx, fareIds: readonly number[]): Promise<void> {
  await sql`
    insert into fare_state (tracked_fare_id, return, state)
    select id, case when return_flight_id is not null then 'unknown' end, '{}'
      from tracked_fare
     where id = any(${fareIds}::bigint[])
     order by id
        on conflict (tracked_fare_id) do nothing
  `.execute(tx)
}

/** Of a fare that is not scheduled. */
const DEFAULT_INTERVAL_SECONDS = 60

/** The columns of a StateRow, with the number of its fare and its usual interval, from row `s` of fare_state. */
export const STATE_COLUMNS = sql`
  s.tracked_fare_id as "fareId", s.state, s.return is not null as "hasReturn", s.last_good_check_at as "lastGoodCheckAt",
  s.price_checked_at as "priceCheckedAt", nullif(s.price_reason, 'held') as "priceReason",
  s.ever_available_at as "everAvailableAt",
  case when s.unusable > 0 then
    jsonb_build_object('since', s.unusable_since, 'answers', s.unusable, 'isShown', s.hidden is not distinct from 'unanswered')
  end as silence,
  coalesce((select coalesce(1 / q.rate, q.interval_seconds) from fare_schedule q
             where q.tracked_fare_id = s.tracked_fare_id), ${DEFAULT_INTERVAL_SECONDS}) as "intervalSeconds"
`

const AHEAD = isAhead(sql`asked_at`)

/**
 * Leaves out fares that have departed: an answer that arrives after the departure is dropped, because "not
 * available" is then no loss. The end of the fare may not be recorded yet.
 */
async function lockExisting(tx: Tx, fareIds: readonly number[]): Promise<LockedFare[]> {
  const { rows } = await sql<LockedFare>`${PREPARED}
    select ${STATE_COLUMNS}, coalesce(${AHEAD}, false) as "isAhead",
           case when not ${AHEAD} then asked_at end as "askedAt", dated_at as "datedAt", flights_id is not null as "hasFlights",
           exists (select from watch w
                     join reseller r on r.id = w.reseller_id and r.disabled_at is null
                    where w.tracked_fare_id = s.tracked_fare_id and w.started_at is null
                      and w.paused_at is null and w.ended_at is null) as "hasUnstartedWatch",
           outbound, return, pair, price as amount, currency, last_reason as "lastReason",
           held_until as "heldUntil", held_since as "heldSince"
      from fare_state s
     where tracked_fare_id = any(${fareIds}::bigint[]) and expired_at is null and coalesce(departs_at > clock_timestamp(), true)
     order by tracked_fare_id
       for update
  `.execute(tx)
  return rows
}

/** A check that counts: its fare is locked, and no later answer has been counted. */
export interface CountedCheck {
  readonly fareId: number
  readonly before: LockedFare
  readonly state: FareState
  readonly check: Check
  /** When the answer was made: an answer with an `Age` is so much older than its request. */
  readonly askedAt: Date
}

/** A check that counted, and its decision. */
export interface RecordedCheck extends CountedCheck {
  readonly decision: Decision
}

/** The result of one counted check, as columns. */
type BeliefRow = ReturnType<typeof beliefRow>

function beliefRow({ fareId, before, check, askedAt, decision }: RecordedCheck) {
  const { state, outcome, past } = decision
  const { belief, candidate, silence } = state
  const departure = departsAt(state)
  // A mass holds the end of the fare, and its answers still show the departure that it doubts.
  const isEndHeld =
    before.heldUntil !== null && departure !== null && departure <= before.heldUntil.toISOString()
  const end = isEndHeld ? before.heldUntil.toISOString() : departure
  const held = isEndHeld ? 'expired' : heldKindOf(state)
  const heldSince = held === 'expired' ? before.heldSince : (candidate?.heldSince ?? null)
  const reason = [outcome.outbound, outcome.return].find((o) => o?.startsWith('unknown:'))
  return {
    fareId,
    /** The belief before the check. */
    before,
    outbound: belief.outbound.belief,
    return: belief.return?.belief ?? null,
    pair: belief.pair,
    amount: belief.price?.amount ?? null,
    currency: belief.price?.currency ?? null,
    /** Null if it is stored already: a check that finds nothing new writes no JSON. */
    state: isStored(state, before.state) ? null : storedState(state),
    askedAt,
    datedAt: check.observation.datedAt ?? null,
    why: check.why,
    reason: reason?.slice('unknown:'.length) ?? null,
    /** Whether the answer showed a departure that was past at first sight. */
    past,
    lastGoodCheckAt: state.lastGoodCheckAt,
    priceCheckedAt: state.pricedAt,
    priceReason: priceReasonOf(state),
    contradictedSince: candidate?.since ?? null,
    held,
    heldSince: held === null ? null : heldSince,
    heldUntil: isEndHeld ? end : null,
    hidden: isEndHeld ? 'held' : hiddenReasonOf(state),
    unusable: silence?.answers ?? 0,
    unusableSince: silence?.since ?? null,
    everAvailableAt: state.everAvailableAt,
    departsAt: end,
    /** Whether its flights are stored already. */
    sameFlights: before.hasFlights && haveSameFlights(before.state, state),
  }
}

function haveSameFlights(before: Partial<FareState>, { belief, lastFlights }: FareState): boolean {
  return (
    isDeepStrictEqual(before.belief?.outbound.flight, belief.outbound.flight) &&
    isDeepStrictEqual(before.belief?.return?.flight, belief.return?.flight) &&
    isDeepStrictEqual(before.lastFlights, lastFlights)
  )
}

/**
 * Writes the beliefs of a batch: the state of each fare, and an interval of history where its belief has changed. A
 * check that finds nothing new adds no row. If the clock was set back, the intervals stay in their order: the next
 * one begins where the last one ends, a millisecond after its beginning.
 */
export async function saveBeliefs(tx: Tx, recorded: readonly RecordedCheck[]): Promise<void> {
  if (recorded.length === 0) return
  const rows = recorded.map(beliefRow)
  const changed = rows.filter(hasChanged)
  if (changed.length > 0) await saveVersions(tx, changed)
  await saveStates(tx, rows)
  const otherFlights = rows.filter(({ sameFlights }) => !sameFlights)
  if (otherFlights.length > 0) await saveFlights(tx, otherFlights)
}

/** Also true for the same amount in other digits (100 and 100.00); the statements then write nothing. */
function hasChanged({
  before,
  outbound,
  return: back,
  pair,
  amount,
  currency,
}: BeliefRow): boolean {
  return (
    before.outbound !== outbound ||
    before.return !== back ||
    before.pair !== pair ||
    before.amount !== amount ||
    before.currency !== currency
  )
}

function batchOf(rows: readonly BeliefRow[]) {
  const columns = rows.map(({ before: _, sameFlights: __, ...row }) => row)
  return sql`
    jsonb_to_recordset(${JSON.stringify(columns)}::jsonb)
      as b ("fareId" bigint, outbound text, return text, pair text, amount numeric, currency text, state jsonb,
            "askedAt" timestamptz, "datedAt" timestamptz, why text, reason text, past boolean, "lastGoodCheckAt" timestamptz,
            "priceCheckedAt" timestamptz, "priceReason" text, "contradictedSince" timestamptz, held text,
            "heldSince" timestamptz, "heldUntil" timestamptz, hidden text, unusable smallint, "unusableSince" timestamptz,
            "everAvailableAt" timestamptz, "departsAt" timestamptz)
  `
}

/** The columns of function leg_prices, after the name of a leg. */
const LEG_PRICES = [
  'price',
  'currency',
  'adult_price',
  'child_price',
  'infant_price',
  'resident_adult_price',
  'resident_child_price',
  'resident_infant_price',
]

/** What an interval keeps of state `s` when it ends. Until then the public SQL reads it there. */
export const KEPT = sql.join([
  sql`price_checked_at = s.price_checked_at, price_reason = s.price_reason, flights_id = s.flights_id`,
  ...['outbound', 'return'].map((leg) => {
    const columns = LEG_PRICES.map((column) => sql.ref(`${leg}_${column}`))
    const stored = sql.lit(`{belief,${leg},price}`)
    return sql`(${sql.join(columns)}) = (select p.* from leg_prices(s.state #> ${stored}) p)`
  }),
])

async function saveVersions(tx: Tx, rows: readonly BeliefRow[]): Promise<void> {
  const batch = batchOf(rows)
  await sql`
    update fare_belief_version v
       set valid_to = greatest(b."askedAt", v.valid_from + interval '1 millisecond'),
           ${KEPT}, written_in = pg_current_xact_id()
      from ${batch}
      join fare_state s on s.tracked_fare_id = b."fareId"
     where v.tracked_fare_id = b."fareId" and v.valid_to is null
       and (v.outbound, v.return, v.pair, v.price, v.currency)
           is distinct from (b.outbound, b.return, b.pair, b.amount, b.currency)
  `.execute(tx)
  await sql`
    insert into fare_belief_version (tracked_fare_id, outbound, return, pair, price, currency, valid_from)
    select b."fareId", b.outbound, b.return, b.pair, b.amount, b.currency,
           greatest(b."askedAt", (select v.valid_to from fare_belief_version v
                                   where v.tracked_fare_id = b."fareId" order by v.valid_from desc limit 1))
      from ${batch}
     where not exists (select from fare_belief_version v
                        where v.tracked_fare_id = b."fareId" and v.valid_to is null)
       and (b.outbound <> 'unknown' or b.return <> 'unknown')
  `.execute(tx)
}

async function saveStates(tx: Tx, rows: readonly BeliefRow[]): Promise<void> {
  await sql`${PREPARED}
    update fare_state s
       set outbound = b.outbound, return = b.return, pair = b.pair, price = b.amount, currency = b.currency,
           state = coalesce(b.state, s.state), asked_at = b."askedAt", dated_at = coalesce(b."datedAt", s.dated_at),
           last_check_at = clock_timestamp(), last_check_why = b.why,
           last_good_check_at = b."lastGoodCheckAt",
           believed_since = case when (s.outbound, s.return) is distinct from (b.outbound, b.return)
                                 then b."askedAt" else s.believed_since end,
           past_since = case when b.past then coalesce(s.past_since, b."askedAt")
                             when b."lastGoodCheckAt" = b."askedAt" then null else s.past_since end,
           contradicted_since = b."contradictedSince", held = b.held, held_since = b."heldSince", held_until = b."heldUntil",
           hidden = b.hidden, unusable = b.unusable, unusable_since = b."unusableSince", last_reason = b.reason,
           price_checked_at = b."priceCheckedAt", price_reason = b."priceReason", departs_at = b."departsAt",
           ever_available_at = b."everAvailableAt", checks = s.checks + 1
      from ${batchOf(rows)}
     where s.tracked_fare_id = b."fareId"
  `.execute(tx)
}

/** The columns of one leg in fare_flights, after its name. */
const FLIGHT_COLUMNS = [
  'from',
  'to',
  'airline',
  'numbers',
  'departs_local',
  'departs_by',
  'site_id',
  'site_name',
  'site_url',
]

/** Stores the flights of the states where they changed, as columns for the public SQL. */
async function saveFlights(tx: Tx, rows: readonly BeliefRow[]): Promise<void> {
  const flightOf = (leg: string, alias: string) => sql`
    lateral (select f."from", f."to", f.airline, f.numbers, f."departsAt", f."departsBy",
                    f.site ->> 'id' as site_id, f.site ->> 'name' as site_name, f.site ->> 'url' as site_url
               from jsonb_to_record(coalesce(nullif(s.state #> ${sql.lit(`{belief,${leg},flight}`)}, 'null'),
                                             nullif(s.state #> ${sql.lit(`{lastFlights,${leg}}`)}, 'null')))
                      as f ("from" text, "to" text, airline text, numbers integer[], "departsAt" timestamp,
                            "departsBy" timestamptz, site jsonb)) ${sql.id(alias)}`
  const columns = sql.join(
    ['outbound', 'return'].flatMap((leg) =>
      FLIGHT_COLUMNS.map((column) => sql.ref(`${leg}_${column}`)),
    ),
  )
  await sql`
    with saved as (
      insert into fare_flights (tracked_fare_id, ${columns})
      select s.tracked_fare_id, o.*, r.*
        from fare_state s
       cross join ${flightOf('outbound', 'o')}
       cross join ${flightOf('return', 'r')}
        left join fare_flights f on f.id = s.flights_id
       where s.tracked_fare_id = any(${rows.map(({ fareId }) => fareId)}::bigint[])
         and (o."from" is not null or r."from" is not null)
         and (${columns}) is distinct from (o.*, r.*)
      returning id, tracked_fare_id)
    update fare_state s set flights_id = saved.id from saved where s.tracked_fare_id = saved.tracked_fare_id
  `.execute(tx)
}
