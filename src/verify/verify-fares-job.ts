import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import type { Db } from '../db/database.ts'
import { inTransaction } from '../db/transaction.ts'
import type { Metrics } from '../metrics.ts'
import type { RecheckRules } from '../recheck/recheck-rules.ts'
import { returnTurns } from '../recheck/settle-turns.ts'
import type { UpstreamClient } from '../upstream/upstream-client.ts'
import { askFares } from './ask-fares.ts'
import { reportChecks } from './check-events.ts'
import { findClaimedFares } from './claimed-fares.ts'
import type { DecisionRules } from './decide.ts'
import { guardLosses } from './guard-losses.ts'
import { lockClaimed } from './lock-fares.ts'
import { recordChecks } from './record-checks.ts'

export interface VerifyDeps {
  readonly db: Db
  readonly upstream: Pick<UpstreamClient, 'verifyFares'>
  readonly clock: Clock
  readonly rules: Omit<DecisionRules, 'holdLosses'> & RecheckRules
  readonly metrics: Metrics
  readonly log: Logger
}

export interface VerifyFaresPayload {
  readonly claimId: string
}

/**
 * Asks the upstream about the fares of one claim and records what it said.
 *
 * The calls happen before the transaction opens: a slow upstream must never hold a row lock. The decision happens
 * inside it, on locked rows: two overlapping checks must not both count the same loss. Safe to run twice: a result
 * whose claim has passed on, or whose request is older than the last counted one, is dropped.
 */
export async function verifyFaresJob(
  deps: VerifyDeps,
  { claimId }: VerifyFaresPayload,
  signal: AbortSignal,
): Promise<void> {
  const { db, clock } = deps
  const { fares, now } = await findClaimedFares(db, claimId)
  if (now === undefined) return
  const skewMs = now.getTime() - clock.now().getTime()
  const { checks, late } = await askFares(deps, fares, { skewMs, signal })

  const recorded = await inTransaction(db, async (tx) => {
    const locked = await lockClaimed(tx, claimId)
    const rules = await guardLosses(tx, { checks, locked, rules: deps.rules, claimId })
    const done = await recordChecks(tx, { checks, locked, rules, claimId })
    if (late.length > 0) await returnTurns(tx, claimId, late)
    return done
  })
  reportChecks(deps, { recorded, asked: checks.length, late: late.length })
}
