import type { TakenSlot } from '../../src/upstream/taken-slot.ts'

/** A slot that has come, or has passed. */
export function aSlot({ usable = true } = {}): TakenSlot {
  return { isUsable: () => usable, now: () => new Date() }
}
