import { randomUUID } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { Db } from '../../db/database.ts'
import {
  type Attempt,
  dropQuestion,
  forgetQuestions,
  LEASE_MS,
  renewQuestion,
  seeAttempt,
  takeQuestion,
  tellSaid,
} from './question-leases.ts'
import type { Said } from './said.ts'

export interface TogetherDeps {
  readonly db: Db
  readonly clock: Clock
}

export interface TogetherArgs {
  /** SHA-256 of the question, in hex. */
  readonly question: string
  readonly signal: AbortSignal
  /** Asks it. */
  readonly ask: () => Promise<Said>
}

/** What an answer loses by passing through the database; the upstream takes some hundred milliseconds. */
const POLL_MS = 50

/**
 * Asks a question, or waits for the process that is at it already and takes what it is told: of all processes one asks.
 * Where that one dies, or fails, another takes its place.
 */
export async function askTogether(deps: TogetherDeps, args: TogetherArgs): Promise<Said> {
  const attempt = { question: args.question, asker: randomUUID() }
  for (;;) {
    if (await takeQuestion(deps.db, attempt)) return askFor(deps, attempt, args.ask)
    const said = await waitForSaid(deps, args)
    if (said !== undefined) return said
  }
}

/** Whatever becomes of it, those who wait are told: what was said, or that they are to ask themselves. */
async function askFor(
  { db }: TogetherDeps,
  attempt: Attempt,
  ask: TogetherArgs['ask'],
): Promise<Said> {
  // One that fails is made up for by the next; where all do, the question passes on.
  const renewing = setInterval(() => {
    renewQuestion(db, attempt).catch(() => undefined)
  }, LEASE_MS / 3)
  try {
    const said = await ask()
    await tellSaid(db, attempt, said)
    await forgetQuestions(db)
    return said
  } catch (err) {
    await dropQuestion(db, attempt).catch(() => undefined)
    throw err
  } finally {
    clearInterval(renewing)
  }
}

/**
 * Waits for what another process is told; undefined where it is told nothing.
 *
 * Whoever comes later waits as long as the first has waited: an answer that came sooner would say that somebody else
 * asks for this flight.
 */
async function waitForSaid(
  { db, clock }: TogetherDeps,
  { question, signal }: TogetherArgs,
): Promise<Said | undefined> {
  let headStartMs: number | undefined
  for (;;) {
    const seen = await seeAttempt(db, question)
    headStartMs ??= seen?.startedMsAgo
    if (seen === undefined) return undefined
    if (seen.said !== null) {
      await clock.sleep(headStartMs ?? 0, signal)
      return seen.said
    }
    if (seen.lapsed) return undefined
    await clock.sleep(POLL_MS, signal)
  }
}
