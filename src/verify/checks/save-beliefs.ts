import { sql, type Tx } from '../../db/database.ts'
import type { ShownBelief } from './lock-fares.ts'

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
