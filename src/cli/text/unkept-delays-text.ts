import type { UnkeptMaxDelays } from '../../watches/max-delays.ts'
import { countOf } from './text-format.ts'

/** Which longest delays are not kept, in capitals, and why. */
export function unkeptDelaysText(unkept: UnkeptMaxDelays): string {
  const { reseller, fares, tooShort, neededPerSecond, allowedPerSecond } = unkept
  const need = `${countOf(fares, 'fare')} need ${neededPerSecond.toFixed(2)} checks a second, its share allows ${allowedPerSecond.toFixed(2)}`
  const short = `${countOf(tooShort, 'fare')} with a delay below the shortest interval between two checks`
  // A sum that was accepted at the limit may be above it by an error of rounding.
  const exceeds = neededPerSecond > allowedPerSecond * (1 + 1e-9)
  const reasons = [...(exceeds ? [need] : []), ...(tooShort > 0 ? [short] : [])]
  return `MAX DELAYS of ${reseller} NOT KEPT: ${reasons.join('; ')}`
}
