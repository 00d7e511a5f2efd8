import { hash } from 'node:crypto'
import { verifyPath } from '../../upstream/flights/verify-fares.ts'
import type { Question } from '../../upstream/observation.ts'
import type { VerifyDeps } from '../verify-fares-job.ts'
import { askTogether } from './ask-together.ts'
import { type Said, saidOf, unsaid } from './said.ts'
import { createSlotLine, NoSlotError } from './slot-line.ts'
import { type AskNowDeps, verifyOnDemand } from './verify-on-demand.ts'

/** Asks the upstream for those who want to know now. */
export interface OnDemand {
  /** Asks, or joins whoever is asking the same; of all processes. What was asked goes on when its asker leaves. */
  ask(question: Question): Promise<Said>
  /** Ends what is in flight, as unknown, and resolves when nothing is. */
  close(): Promise<void>
}

export interface OnDemandDeps extends VerifyDeps {
  /** How long a question may wait for the budget to give it a slot; it may then lie five seconds ahead. */
  readonly slotPatienceMs?: number
}

/** Clients give up after half a minute: with the slot five seconds ahead, and the upstream's deadline of ten. */
const SLOT_PATIENCE_MS = 10_000

interface InFlight {
  readonly startedMs: number
  readonly said: Promise<Said>
}

export function createOnDemand({ slotPatienceMs, ...deps }: OnDemandDeps): OnDemand {
  const { db, clock, rules } = deps
  const { requestsPerSecond } = rules
  const patienceMs = slotPatienceMs ?? SLOT_PATIENCE_MS
  const takeSlot = createSlotLine({ db, clock, requestsPerSecond, patienceMs })
  const ending = new AbortController()
  const { signal } = ending
  const inFlight = new Map<string, InFlight>()

  function start(key: string, question: Question): Promise<Said> {
    const ask = () => askUpstream({ ...deps, takeSlot }, question, signal)
    const said = askTogether(deps, { question: key, signal, ask })
      .catch(stoppedOr(signal))
      .finally(() => inFlight.delete(key))
    inFlight.set(key, { startedMs: clock.now().getTime(), said })
    return said
  }

  return {
    ask: async (question) => {
      const key = hash('sha256', verifyPath(question))
      const running = inFlight.get(key)
      if (running === undefined) return start(key, question)
      // As long as the first has waited: sooner, an answer would say that somebody else asks for this flight.
      const headStartMs = clock.now().getTime() - running.startedMs
      const said = await running.said
      await clock.sleep(Math.max(0, headStartMs), signal).catch(() => undefined)
      return said
    },
    close: async () => {
      ending.abort()
      await Promise.allSettled([...inFlight.values()].map(({ said }) => said))
    },
  }
}

type AskDeps = AskNowDeps & Required<Pick<AskNowDeps, 'takeSlot'>>

async function askUpstream(deps: AskDeps, question: Question, signal: AbortSignal): Promise<Said> {
  try {
    const { observation } = await verifyOnDemand(deps, question, signal)
    return saidOf(question, observation)
  } catch (err) {
    if (err instanceof NoSlotError) return unsaid('no_slot', err.retryAfterMs)
    throw err
  }
}

/** A process that ends says so; whatever else was thrown is thrown. */
function stoppedOr(signal: AbortSignal) {
  return (err: unknown): Said => {
    if (signal.aborted) return unsaid('stopping')
    throw err
  }
}
