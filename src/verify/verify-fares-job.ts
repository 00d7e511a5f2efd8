import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import type { Semaphore } from '../base/semaphore.ts'
import type { Db } from '../db/database.ts'
import { inTransaction } from '../db/transaction.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { RecheckRules } from '../recheck/recheck-rules.ts'
import { releaseClaims } from '../recheck/reschedule.ts'
import type { CircuitBreaker } from '../upstream/breaker/circuit-breaker.ts'
import { skewOf } from '../upstream/budget/take-slot.ts'
import type { UpstreamClient } from '../upstream/upstream-client.ts'
import { askFares, type Wave } from './checks/ask-fares.ts'
import { reportChecks } from './checks/check-events.ts'
import { findClaimedFares } from './checks/claimed-fares.ts'
import { lockClaimed } from './checks/lock-fares.ts'
import { type RecordedCheck, recordChecks } from './checks/record-checks.ts'
import type { DecisionRules } from './decide/decide-leg.ts'
import { type IncidentTransition, reportIncidents } from './incidents/change-incidents.ts'
import { guardLosses } from './incidents/guard-losses.ts'

export interface VerifyDeps {
  readonly db: Db
  readonly upstream: Pick<UpstreamClient, 'verifyFares'>
  /** The one that the client's calls pass; absent where they pass none. */
  readonly breaker?: Pick<CircuitBreaker, 'admission'>
  readonly clock: Clock
  readonly rules: Omit<DecisionRules, 'holdLosses'> & RecheckRules
  readonly metrics: Metrics
  readonly log: Logger
}

export interface VerifyJobDeps extends VerifyDeps {
  /**
   * Bounds how many batches of this process record at a time; absent: nothing does. Recordings of one minute wait
   * for each other in the database anyway; those that waited there would hold all connections meanwhile.
   */
  readonly recording?: Semaphore
}

export interface VerifyFaresPayload {
  readonly claimId: string
}

/**
 * Asks the upstream about the fares of one claim and records what it said.
 *
 * The calls happen before the transaction opens: a slow upstream must never hold a row lock. The decision happens
 * inside it, on locked rows: two overlapping checks must not both count the same loss. Answers that come late have
 * a transaction of their own. What was not asked, because the upstream is to be left alone, is given back unspent.
 * Safe to run twice: a result whose claim has passed on, or whose request is older than the last counted one, is
 * dropped.
 */
export async function verifyFaresJob(
  deps: VerifyJobDeps,
  { claimId }: VerifyFaresPayload,
  signal: AbortSignal,
): Promise<void> {
  const { fares, skew } = await readClaim(deps, claimId)
  if (skew === undefined) return
  for await (const wave of askFares(deps, fares, { ...skew, signal })) {
    const record = () => recordWave(deps, claimId, wave)
    const { recorded, transitions } = await (deps.recording?.(record) ?? record())
    const { checks, late, held } = wave
    reportChecks(deps, {
      recorded,
      asked: checks.length,
      late: late.length,
      held: held.length,
    })
    reportIncidents(deps, transitions)
  }
}

/** What a claim holds, and how the database's clock stands to ours. Waiting for a connection is no doubt about a clock. */
function readClaim({ db, clock }: VerifyDeps, claimId: string) {
  return db.connection().execute(async (session) => {
    const askedMs = clock.now().getTime()
    const { fares, now } = await findClaimedFares(session, claimId)
    return { fares, skew: now && skewOf(now, { clock, askedMs }) }
  })
}

function recordWave(
  { db, rules: ordinary }: VerifyDeps,
  claimId: string,
  { checks, late, held }: Wave,
): Promise<{ recorded: RecordedCheck[]; transitions: readonly IncidentTransition[] }> {
  return inTransaction(db, async (tx) => {
    const locked = await lockClaimed(tx, claimId)
    const { rules, transitions } = await guardLosses(tx, {
      checks,
      locked,
      rules: ordinary,
      claimId,
    })
    const recorded = await recordChecks(tx, { checks, locked, rules, claimId })
    await releaseClaims(tx, claimId, [...late, ...held])
    return { recorded, transitions }
  })
}
