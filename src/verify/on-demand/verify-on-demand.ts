import { type Db, sql } from '../../db/database.ts'
import { inTransaction } from '../../db/transaction.ts'
import { takeSlot } from '../../upstream/budget/reserve-slots.ts'
import type { TakenSlot } from '../../upstream/budget/take-slot.ts'
import type { Observation, Question } from '../../upstream/observation.ts'
import { assertQuestion } from '../../upstream/passenger-rules.ts'
import { circuitOpenObservation } from '../../upstream/unasked.ts'
import {
  UpstreamCircuitOpenError,
  UpstreamSlotMissedError,
} from '../../upstream/upstream-errors.ts'
import { isRateLimited } from '../checks/ask-fares.ts'
import { reportChecks } from '../checks/check-events.ts'
import { lockFares } from '../checks/lock-fares.ts'
import { recordChecks } from '../checks/record-checks.ts'
import { guardLosses } from '../incidents/guard-losses.ts'
import { reportIncidents } from '../incidents/incident-events.ts'
import type { VerifyDeps } from '../verify-fares-job.ts'
import { asksQuestion } from './same-question.ts'

/** What the upstream said just now, and the tracked fare whose history it feeds, where somebody watches it. */
export interface OnDemandAnswer {
  readonly observation: Observation
  readonly fareId: number | null
}

export interface AskNowDeps extends VerifyDeps {
  /** Waits for a slot of the budget, and says by throwing that it had none; absent: as long as it takes. */
  readonly takeSlot?: (signal: AbortSignal) => Promise<TakenSlot>
}

/**
 * Asks one question now, within the budget's lane for it. The answer of a watched fare takes the same path as any
 * other: confirmed, recorded, told. While the upstream is to be left alone it is not asked, and no slot is spent:
 * the answer is unknown, `circuit_open`, and changes nothing.
 *
 * Throws PassengerRuleError or QuestionError for a question that the interface forbids, before a slot is spent.
 */
export async function verifyOnDemand(
  deps: AskNowDeps,
  question: Question,
  signal: AbortSignal,
): Promise<OnDemandAnswer> {
  const { db, rules } = deps
  assertQuestion(question)
  const { observation, askedAt } = await ask(deps, question, signal)
  const fareId = await findTrackedFare(db, question)
  if (fareId === null || askedAt === null || isRateLimited(observation)) {
    return { observation, fareId }
  }

  const checks = [{ fareId, askedAt, observation }]
  const { recorded, moves } = await inTransaction(db, async (tx) => {
    const locked = await lockFares(tx, [fareId])
    const guarded = await guardLosses(tx, { checks, locked, rules, claimId: null })
    const args = { checks, locked, rules: guarded.rules, claimId: null }
    return { recorded: await recordChecks(tx, args), moves: guarded.moves }
  })
  reportChecks(deps, { recorded, asked: 1, late: 0, held: 0 })
  reportIncidents(deps, moves)
  return { observation, fareId }
}

interface Asked {
  readonly observation: Observation
  /** When the request began, by the database's clock; null where there was none. */
  readonly askedAt: Date | null
}

/** Where the slot has passed before the call could go out, another is taken. */
async function ask(deps: AskNowDeps, question: Question, signal: AbortSignal): Promise<Asked> {
  for (;;) {
    try {
      return await askAtSlot(deps, question, signal)
    } catch (err) {
      if (!(err instanceof UpstreamSlotMissedError)) throw err
    }
  }
}

async function askAtSlot(
  deps: AskNowDeps,
  question: Question,
  signal: AbortSignal,
): Promise<Asked> {
  const { clock, upstream, breaker, metrics, takeSlot = slotTaker(deps) } = deps
  try {
    const admission = await breaker?.admission('verify')
    if (admission?.kind === 'refused') {
      const until = new Date(admission.untilMs)
      throw new UpstreamCircuitOpenError({ endpoint: 'verify', by: admission.by, until })
    }
    const slot = await takeSlot(signal)
    metrics.budgetSlots.inc({ lane: 'on_demand' })
    const askedAt = slot.now()
    return { observation: await upstream.verifyFares(question, { signal, slot }), askedAt }
  } catch (err) {
    if (!(err instanceof UpstreamCircuitOpenError)) throw err
    return { observation: circuitOpenObservation(question, err, clock.now()), askedAt: null }
  }
}

function slotTaker({ db, clock, rules: { requestsPerSecond } }: VerifyDeps) {
  return (signal: AbortSignal) => takeSlot(db, { requestsPerSecond, lane: true, clock, signal })
}

async function findTrackedFare(db: Db, question: Question): Promise<number | null> {
  const { rows } = await sql<{ id: number }>`
    select id from tracked_fare where ${asksQuestion(question)} and ended_at is null
  `.execute(db)
  return rows[0]?.id ?? null
}
