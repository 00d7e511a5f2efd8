import { draw, mix, mixText } from '../world/random.ts'
import type { FaultContext, FaultyAnswer } from './fault-kind.ts'
import type { CheckedRule, FaultName } from './fault-rule.ts'

/** Separates the draws of the rules from those of the world. */
const FAULT_STREAM = 97

/** A rule in force. */
export interface ActiveFault {
  readonly rule: CheckedRule
  /** Real time at which the rule ends. Null if it ends when it is removed. */
  readonly endsAt: Date | null
  /** The requests to its operations. */
  readonly requests: number
  /** The requests that it changed. */
  readonly triggered: number
}

interface TriggeredFault extends FaultyAnswer {
  readonly name: FaultName
}

/** The fault rules in force. */
export interface FaultLayer {
  /** Replaces all rules. */
  set(rules: readonly CheckedRule[]): void
  /** Adds rules after the present ones: of two that apply to a request the first is triggered. */
  add(rules: readonly CheckedRule[]): void
  /** Removes all rules of a name; returns how many. */
  remove(name: string): number
  active(): ActiveFault[]
  /** The fault of one request; undefined if it gets the correct answer. */
  trigger(context: RequestContext): TriggeredFault | undefined
}

/** What a fault can use of the request. */
type RequestContext = Omit<FaultContext, 'occurrence' | 'kept'>

interface HeldRule {
  readonly rule: CheckedRule
  /** The word for its draws. */
  readonly word: number
  readonly endsAtMs: number
  readonly kept: FaultContext['kept']
  requests: number
  triggered: number
}

/**
 * Draws by seed and count: with the same seed and the same rules the nth request to the operations of a rule has
 * the same outcome in every run. A rule counts all these requests, so the rules do not change each other's draws.
 */
export function createFaultLayer({
  seed,
  realNow,
}: {
  readonly seed: number
  readonly realNow: () => Date
}): FaultLayer {
  let held: HeldRule[] = []
  let serial = 0
  const hold = (rule: CheckedRule): HeldRule => {
    const word = mixText(mix(mix(seed, FAULT_STREAM), serial++), rule.name)
    const seconds = rule.durationSeconds ?? Number.POSITIVE_INFINITY
    const endsAtMs = realNow().getTime() + seconds * 1000
    return { rule, word, endsAtMs, kept: new Map(), requests: 0, triggered: 0 }
  }
  const removeEnded = (now: Date) => {
    held = held.filter(({ endsAtMs }) => now.getTime() < endsAtMs)
  }
  return {
    set(rules) {
      serial = 0
      held = rules.map(hold)
    },
    add(rules) {
      held = [...held, ...rules.map(hold)]
    },
    remove(name) {
      removeEnded(realNow())
      const before = held.length
      held = held.filter(({ rule }) => rule.name !== name)
      return before - held.length
    },
    active() {
      removeEnded(realNow())
      return held.map(({ endsAtMs, word: _word, kept: _kept, ...rest }) => ({
        ...rest,
        endsAt: Number.isFinite(endsAtMs) ? new Date(endsAtMs) : null,
      }))
    },
    trigger(context) {
      removeEnded(context.now)
      return triggerFirst(held, context)
    },
  }
}

function triggerFirst(
  held: readonly HeldRule[],
  context: RequestContext,
): TriggeredFault | undefined {
  const drawn = held
    .filter(({ rule }) => rule.endpoints.includes(context.endpoint))
    .filter((one) => draw(one.word, one.requests++) < one.rule.probability)
  for (const one of drawn) {
    const faulty = one.rule.corrupt({ ...context, occurrence: one.triggered, kept: one.kept })
    if (faulty === undefined) continue
    one.triggered += 1
    return { ...faulty, name: one.rule.name }
  }
  return undefined
}
