import type { UnkeptMaxDelays } from '../watches/max-delays.ts'
import { exceedsShare } from './limits.ts'
import type { KnownProcess, Status } from './status-shapes.ts'

export function ofFares(n: number): string {
  return n === 1 ? '1 fare' : `${n} fares`
}

type Unreached = Status['deliveries']['unreached']

/**
 * How many endpoints, and which of them are known by name.
 * @example endpointText(2, known) // '2 endpoints (7 of ana, 9 of bob)'
 */
export function endpointText(n: number, known: Unreached): string {
  const named = known.map(({ id, reseller }) => `${id} of ${reseller}`)
  const count = n === 1 ? '1 endpoint' : `${n} endpoints`
  return named.length === 0 ? count : `${count} (${named.join(', ')})`
}

/** @example '346 MB free (8 %)' */
export function freeText({ freeBytes, totalBytes }: NonNullable<Status['disk']>): string {
  const share = Math.round((100 * freeBytes) / totalBytes)
  return `${Math.round(freeBytes / 1e6)} MB free (${share} %)`
}

/** @example 'worker on host a (pid 7)' */
export function rolesText({ role, host, pid }: KnownProcess): string {
  return `${role} on host ${host} (pid ${pid})`
}

/** Why longest delays are not kept. */
export function unkeptText(unkept: UnkeptMaxDelays): string {
  const { fares, tooShort, neededPerSecond, allowedPerSecond } = unkept
  const need = `${ofFares(fares)} need ${rateText(neededPerSecond)} checks a second, its share allows ${rateText(allowedPerSecond)}`
  const short = `${ofFares(tooShort)} with a delay below the minimum interval between two checks`
  return [...(exceedsShare(unkept) ? [need] : []), ...(tooShort > 0 ? [short] : [])].join('; ')
}

/** @example rateText(0.0035) // '0.0035' */
function rateText(perSecond: number): string {
  return String(Number(perSecond.toPrecision(3)))
}
