import { draw, mix, mixText } from '../world/random.ts'
import type { Scene, Spoilt } from './fault-kind.ts'
import type { CheckedRule, FaultName } from './fault-rule.ts'

const FAULT = 97

/** A rule that holds, and what has become of it. */
export interface ActiveFault {
  readonly rule: CheckedRule
  /** Real time at which it ends; null for until it is removed. */
  readonly endsAt: Date | null
  /** Requests that it could have struck. */
  readonly requests: number
  readonly struck: number
}

export interface Struck extends Spoilt {
  readonly name: FaultName
}

/** The faults in force. */
export interface FaultLayer {
  /** In place of all rules before. */
  set(rules: readonly CheckedRule[]): void
  /** After those that hold already: of two that fall on one request the first strikes. */
  add(rules: readonly CheckedRule[]): void
  /** Removes all rules of a name; returns how many. */
  remove(name: string): number
  active(): ActiveFault[]
  /** The one fault that a request meets, or undefined: it is answered honestly. */
  strike(scene: Omit<Scene, 'turn'>): Struck | undefined
}

interface Held {
  readonly rule: CheckedRule
  /** From which its dice are drawn. */
  readonly word: number
  readonly endsAtMs: number
  requests: number
  struck: number
}

/**
 * Decides by seed and count: the nth request that a rule could strike is struck or spared the same in every run with
 * the same seed and the same rules. Every rule counts every request that it could strike, so no rule moves
 * another's dice.
 */
export function createFaultLayer({
  seed,
  realNow,
}: {
  readonly seed: number
  readonly realNow: () => Date
}): FaultLayer {
  let held: Held[] = []
  let serial = 0
  const hold = (rule: CheckedRule): Held => {
    const word = mixText(mix(mix(seed, FAULT), serial++), rule.name)
    const seconds = rule.durationSeconds ?? Number.POSITIVE_INFINITY
    return { rule, word, endsAtMs: realNow().getTime() + seconds * 1000, requests: 0, struck: 0 }
  }
  const endOver = (now: Date) => {
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
      endOver(realNow())
      const before = held.length
      held = held.filter(({ rule }) => rule.name !== name)
      return before - held.length
    },
    active() {
      endOver(realNow())
      return held.map(viewHeld)
    },
    strike(scene) {
      endOver(scene.now)
      return strikeFirst(held, scene)
    },
  }
}

function strikeFirst(held: readonly Held[], scene: Omit<Scene, 'turn'>): Struck | undefined {
  const fallen = held
    .filter(({ rule }) => rule.endpoints.includes(scene.endpoint))
    .filter((one) => draw(one.word, one.requests++) < one.rule.probability)
  for (const one of fallen) {
    const spoilt = one.rule.spoil({ ...scene, turn: one.struck })
    if (spoilt === undefined) continue
    one.struck += 1
    return { ...spoilt, name: one.rule.name }
  }
  return undefined
}

function viewHeld({ rule, endsAtMs, requests, struck }: Held): ActiveFault {
  return { rule, endsAt: Number.isFinite(endsAtMs) ? new Date(endsAtMs) : null, requests, struck }
}
