import { PREPARED, sql, type Tx } from '../platform/db/database.ts'

/** Checks in lanes are charged over this time. */
const CHARGED_SECONDS = 300
/** In that time a reseller may use this part of its part of the budget in lanes, while others wait. */
const MOST_IN_LANES = 0.5

/** The checks a second that lanes made for the reseller of row `p` lately. */
export const IN_LANES = sql`
  (p.in_lanes * exp(-least(700, greatest(0, extract(epoch from now() - p.in_lanes_at) / ${CHARGED_SECONDS}::float8))))::float8
`

/**
 * The checks that lanes may still make for the reseller of row `p` while others wait. A part of one is a whole one, so that the
 * first fare of a small reseller is checked at once; it is charged for all of it.
 */
export const LEFT_IN_LANES = sql`
  ceil(greatest(0, (${MOST_IN_LANES}::float8 * p.part - ${IN_LANES}) * ${CHARGED_SECONDS}::float8))
`

/** A check in a lane, and who is charged for it. */
export interface LaneCheck {
  /** The reseller that caused it; null: all of its resellers, by what they spend on the fare. */
  readonly laneReseller: number | null
  readonly resellers: readonly number[]
  /** What each of them spends on it; empty where its watches have changed: then equal parts. */
  readonly rates: readonly number[]
}

/** The checks that each reseller is charged for. Those of fares without a reseller are charged to number 0. */
export function chargesOf(checks: readonly LaneCheck[]): ReadonlyMap<number, number> {
  const charges = new Map<number, number>()
  const add = (reseller: number, checks: number) =>
    charges.set(reseller, (charges.get(reseller) ?? 0) + checks)
  for (const { laneReseller, resellers, rates } of checks) {
    const charged = laneReseller !== null ? [laneReseller] : resellers.length > 0 ? resellers : [0]
    const parts =
      charged === resellers && rates.length === charged.length ? rates : charged.map(() => 1)
    const sum = parts.reduce((a, b) => a + b, 0)
    for (const [i, reseller] of charged.entries()) add(reseller, (parts[i] ?? 0) / sum)
  }
  return charges
}

/** Charges checks in lanes: they are taken from what the reseller's schedule may spend. */
export async function chargeLanes(tx: Tx, charges: ReadonlyMap<number, number>): Promise<void> {
  if (charges.size === 0) return
  const sorted = [...charges].toSorted(([a], [b]) => a - b)
  await sql`${PREPARED}
    insert into fare_schedule_reseller as p (reseller_id, in_lanes, in_lanes_at)
    select id, checks / ${CHARGED_SECONDS}::float8, now()
      from unnest(${sorted.map(([id]) => id)}::bigint[], ${sorted.map(([, checks]) => checks)}::float8[]) c (id, checks)
        on conflict (reseller_id) do update
       set in_lanes = ${IN_LANES} + excluded.in_lanes, in_lanes_at = now()
  `.execute(tx)
}

/**
 * Whether a question of a reseller on demand may use a lane now: it has not used what it may, or no fare waits. A reseller
 * without watches has no part that this could be taken from.
 */
export async function mayUseLanes(tx: Tx, resellerId: number): Promise<boolean> {
  const { rows } = await sql<{ may: boolean }>`${PREPARED}
    select coalesce((select ${LEFT_IN_LANES} >= 1 from fare_schedule_reseller p
                      where p.reseller_id = ${resellerId} and p.part > 0), true)
           or not exists (select from fare_schedule
                           where vdue < 'infinity' and not_before <= now() and leased_until <= now()) as may
  `.execute(tx)
  return rows[0]?.may ?? true
}
