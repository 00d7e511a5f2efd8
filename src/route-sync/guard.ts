import type { SyncReason } from './sync-run.ts'

/** From which point on a list is not believed at first sight. Shares are fractions of 1. */
export interface GuardLimits {
  /** Routes (or available routes) that may be newly absent at once. */
  readonly absentShare: number
  /** Below this many, an absence or a place change is never suspicious: small lists move in large shares. */
  readonly minimum: number
  /** Routes whose removal may be confirmed within 24 hours. */
  readonly removedPerDayShare: number
  /** From this many live routes on, a list may at most double them. */
  readonly doublingFrom: number
  /** Known places whose attributes may change at once. */
  readonly placesChangedShare: number
}

export const GUARD_LIMITS: GuardLimits = {
  absentShare: 0.15,
  minimum: 10,
  removedPerDayShare: 0.25,
  doublingFrom: 1_000,
  placesChangedShare: 0.5,
}

/** What a snapshot would do, in numbers, were it applied. */
export interface SnapshotEffect {
  readonly baseline: boolean
  /** Distinct routes in the snapshot. */
  readonly listed: number
  /** Live (or available) routes before it. */
  readonly live: number
  /** Live routes that it lacks and that none before it lacked. */
  readonly newlyAbsent: number
  readonly added: number
  /** Removals that it would confirm. */
  readonly removed: number
  readonly removedLastDay: number
  readonly knownPlaces: number
  readonly placesChanged: number
}

/**
 * Says why a snapshot is suspicious, or null. A suspicious snapshot is held whole: nothing of it is applied.
 *
 * The rules are the accidents: an empty answer, half a list, a slow leak that stays under the first limit,
 * two lists in one, a column shifted by one.
 */
export function suspicionOf(effect: SnapshotEffect, limits: GuardLimits): SyncReason | null {
  if (effect.listed === 0) return { code: 'empty', text: 'the list is empty' }
  if (effect.baseline) return null
  return (
    absentTooMany(effect, limits) ??
    addedTooMany(effect, limits) ??
    placesChangedTooMany(effect, limits) ??
    removedTooManyInADay(effect, limits)
  )
}

function absentTooMany(effect: SnapshotEffect, limits: GuardLimits): SyncReason | null {
  const { newlyAbsent, live } = effect
  if (newlyAbsent < limits.minimum || newlyAbsent <= limits.absentShare * live) return null
  return {
    code: 'mass_absence',
    text: `${newlyAbsent} of ${live} routes are missing at once (${percent(newlyAbsent / live)}, limit ${percent(limits.absentShare)})`,
  }
}

function addedTooMany(effect: SnapshotEffect, limits: GuardLimits): SyncReason | null {
  const { added, live } = effect
  if (live < limits.doublingFrom || added <= live) return null
  return { code: 'mass_addition', text: `${added} routes are new where ${live} were live` }
}

function placesChangedTooMany(effect: SnapshotEffect, limits: GuardLimits): SyncReason | null {
  const { placesChanged, knownPlaces } = effect
  if (placesChanged < limits.minimum) return null
  if (placesChanged < limits.placesChangedShare * knownPlaces) return null
  return {
    code: 'mass_place_change',
    text: `${placesChanged} of ${knownPlaces} known places have other attributes (${percent(placesChanged / knownPlaces)}, limit ${percent(limits.placesChangedShare)})`,
  }
}

function removedTooManyInADay(effect: SnapshotEffect, limits: GuardLimits): SyncReason | null {
  const inADay = effect.removed + effect.removedLastDay
  const liveADayAgo = effect.live + effect.removedLastDay
  if (effect.removed === 0 || inADay < limits.minimum) return null
  if (inADay <= limits.removedPerDayShare * liveADayAgo) return null
  return {
    code: 'mass_removal',
    text: `${inADay} of ${liveADayAgo} routes would be removed within 24 hours (${percent(inADay / liveADayAgo)}, limit ${percent(limits.removedPerDayShare)})`,
  }
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}
