import { sql, type Tx } from '../../db/database.ts'

/** The belief of a fare as its history shows it. */
export interface ShownBelief {
  readonly outbound: string
  readonly return: string | null
  readonly pair: string
  readonly amount: string | null
  readonly currency: string | null
}

/** A fare whose state this transaction may change. */
export interface LockedFare extends ShownBelief {
  readonly fareId: number
  /** A FareState as JSON; an empty object before the first check. */
  readonly state: object
  readonly hasReturn: boolean
  /** Whether an active watch of it waits for a good check to start. */
  readonly hasUnstartedWatch: boolean
  /** When the request of the last counted answer began. */
  readonly askedAt: Date | null
}

/**
 * Locks the fares that the claim still holds, in the order of their ids. A claim whose lease has ended, or whose fares
 * have ended, may hold none.
 */
export async function lockClaimed(tx: Tx, claimId: string): Promise<LockedFare[]> {
  const rows = await tx
    .selectFrom('fare_schedule')
    .select('tracked_fare_id as id')
    .where('claim_id', '=', claimId)
    .orderBy('tracked_fare_id')
    .forUpdate()
    .execute()
  return lockStates(
    tx,
    rows.map((row) => row.id),
  )
}

/** Locks fares by their ids, whether or not a claim holds them. Leaves out expired fares: nothing is recorded of them. */
export async function lockFares(tx: Tx, fareIds: readonly number[]): Promise<LockedFare[]> {
  // The schedule before the states, as in `lockClaimed`: transactions that meet must take their locks in one order.
  await sql`
    select from fare_schedule
     where tracked_fare_id = any(${fareIds}::bigint[])
     order by tracked_fare_id
       for update
  `.execute(tx)
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

async function lockExisting(tx: Tx, fareIds: readonly number[]): Promise<LockedFare[]> {
  const { rows } = await sql<LockedFare>`
    select tracked_fare_id as "fareId", state, asked_at as "askedAt", return is not null as "hasReturn",
           exists (select from watch w
                     join reseller r on r.id = w.reseller_id and r.disabled_at is null
                    where w.tracked_fare_id = s.tracked_fare_id and w.started_at is null
                      and w.paused_at is null and w.ended_at is null) as "hasUnstartedWatch",
           outbound, return, pair, price as amount, currency
      from fare_state s
     where tracked_fare_id = any(${fareIds}::bigint[]) and expired_at is null
     order by tracked_fare_id
       for update
  `.execute(tx)
  return rows
}

/** The result of one counted check, as columns. */
export interface BeliefRow extends ShownBelief {
  readonly fareId: number
  /** The belief before the check. */
  readonly before: ShownBelief
  readonly state: object
  readonly askedAt: Date
  readonly good: boolean
  readonly reason: string | null
  readonly everAvailableAt: string | null
}

/**
 * Writes the beliefs of a batch: the state of each fare, and an interval of history where its belief has changed. A check
 * that finds nothing new adds no row.
 */
export async function saveBeliefs(tx: Tx, rows: readonly BeliefRow[]): Promise<void> {
  if (rows.length === 0) return
  const changed = rows.filter(hasChanged)
  if (changed.length > 0) await saveVersions(tx, changed)
  await saveStates(tx, rows)
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
  const columns = rows.map(({ before: _, ...row }) => row)
  return sql`
    jsonb_to_recordset(${JSON.stringify(columns)}::jsonb)
      as b ("fareId" bigint, outbound text, return text, pair text, amount numeric, currency text, state jsonb,
            "askedAt" timestamptz, good boolean, reason text, "everAvailableAt" timestamptz)
  `
}

async function saveVersions(tx: Tx, rows: readonly BeliefRow[]): Promise<void> {
  const batch = batchOf(rows)
  await sql`
    update fare_belief_version v
       set valid_to = b."askedAt"
      from ${batch}
     where v.tracked_fare_id = b."fareId" and v.valid_to is null
       and (v.outbound, v.return, v.pair, v.price, v.currency)
           is distinct from (b.outbound, b.return, b.pair, b.amount, b.currency)
  `.execute(tx)
  await sql`
    insert into fare_belief_version (tracked_fare_id, outbound, return, pair, price, currency, valid_from)
    select b."fareId", b.outbound, b.return, b.pair, b.amount, b.currency, b."askedAt"
      from ${batch}
     where not exists (select from fare_belief_version v
                        where v.tracked_fare_id = b."fareId" and v.valid_to is null)
       and (b.outbound <> 'unknown' or b.return <> 'unknown')
  `.execute(tx)
}

async function saveStates(tx: Tx, rows: readonly BeliefRow[]): Promise<void> {
  await sql`
    update fare_state s
       set outbound = b.outbound, return = b.return, pair = b.pair, price = b.amount, currency = b.currency,
           state = b.state, asked_at = b."askedAt", last_check_at = clock_timestamp(),
           last_good_check_at = case when b.good then b."askedAt" else s.last_good_check_at end,
           believed_since = case when (s.outbound, s.return) is distinct from (b.outbound, b.return)
                                 then b."askedAt" else s.believed_since end,
           last_reason = b.reason, ever_available_at = b."everAvailableAt", checks = s.checks + 1
      from ${batchOf(rows)}
     where s.tracked_fare_id = b."fareId"
  `.execute(tx)
}

/** Stores the answers behind changes: each once, compressed. */
export async function saveEvidence(
  tx: Tx,
  answers: readonly { readonly hash: string; readonly body: Buffer }[],
): Promise<void> {
  if (answers.length === 0) return
  await tx
    .insertInto('evidence')
    .values(answers)
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .execute()
}
