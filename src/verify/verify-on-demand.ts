import { type Db, sql } from '../db/database.ts'
import { inTransaction, one } from '../db/transaction.ts'
import { spendOne } from '../upstream/budget.ts'
import type { Observation, Question } from '../upstream/observation.ts'
import { reportChecks } from './check-events.ts'
import { guardLosses } from './guard-losses.ts'
import { lockFares } from './lock-fares.ts'
import { recordChecks } from './record-checks.ts'
import type { VerifyDeps } from './verify-fares-job.ts'

/** What the upstream said just now, and the tracked fare whose history it feeds, where somebody watches it. */
export interface OnDemandAnswer {
  readonly observation: Observation
  readonly fareId: number | null
}

/**
 * Asks one question now, within the budget's lane for it. The answer of a watched fare takes the same path as any
 * other: confirmed, recorded, told.
 */
export async function verifyOnDemand(
  deps: VerifyDeps,
  question: Question,
  signal: AbortSignal,
): Promise<OnDemandAnswer> {
  const { db, clock, upstream, rules } = deps
  await spendOne(db, { requestsPerSecond: rules.requestsPerSecond, lane: true, clock, signal })
  const { now } = await one(sql<{ now: Date }>`select clock_timestamp() as now`, db)
  const observation = await upstream.verifyFares(question, { signal })
  const fareId = await findTrackedFare(db, question)
  if (fareId === null) return { observation, fareId }

  const checks = [{ fareId, askedAt: now, observation }]
  const recorded = await inTransaction(db, async (tx) => {
    const locked = await lockFares(tx, [fareId])
    const guarded = await guardLosses(tx, { checks, locked, rules, claimId: null })
    return recordChecks(tx, { checks, locked, rules: guarded, claimId: null })
  })
  reportChecks(deps, { recorded, asked: 1, late: 0 })
  return { observation, fareId }
}

async function findTrackedFare(db: Db, { flightId, returnFlightId, passengers }: Question) {
  const { residents, nonResidents } = passengers
  const { rows } = await sql<{ id: number }>`
    select id from tracked_fare
     where flight_id = ${flightId} and return_flight_id is not distinct from ${returnFlightId}
       and (residents_adults, residents_children, residents_infants)
           = (${residents.adults}, ${residents.children}, ${residents.infants})
       and (non_residents_adults, non_residents_children, non_residents_infants)
           = (${nonResidents.adults}, ${nonResidents.children}, ${nonResidents.infants})
       and ended_at is null
  `.execute(db)
  return rows[0]?.id ?? null
}
