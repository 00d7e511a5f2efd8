import type { TakenSlot } from '../../src/upstream/budget/take-slot.ts'

/** A slot whose time has come, or has passed. */
export function aSlot({ usable = true } = {}): TakenSlot {
  return { isUsable: () => usable, now: () => new Date() }
}
