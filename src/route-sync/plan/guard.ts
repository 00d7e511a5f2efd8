import type { SyncReason } from '../runs/sync-run.ts'

/** When a list is held for review, and when agreeing lists end a review by themselves. Shares are fractions of 1. */
export interface GuardLimits {
  /** Live (or available) routes that one list may newly lack. */
  readonly absentShare: number
  /** Fewer absences, removals or place changes are never suspicious: small lists move in large shares. */
  readonly minimum: number
  /** Routes whose removal may be confirmed within 24 hours. */
  readonly removedPerDayShare: number
  /** Additions are judged once this many routes are live. */
  readonly growthFrom: number
  /** Routes that one list may add, relative to the live routes. */
  readonly growthShare: number
  /** Known places whose attributes one list may change. */
  readonly placesChangedShare: number
  /** Two lists agree if they differ in at most this share of the larger one. */
  readonly agreementShare: number
  /** A review ends by itself once this many lists agree, */
  readonly releaseLists: number
  /** span at least this many hours, */
  readonly releaseHours: number
  /** and lack at most this share of the live routes. */
  readonly releaseLostShare: number
}

export const GUARD_LIMITS: GuardLimits = {
  absentShare: 0.15,
  minimum: 10,
  removedPerDayShare: 0.25,
  growthFrom: 1_000,
  growthShare: 1,
  placesChangedShare: 0.5,
  agreementShare: 0.01,
  releaseLists: 3,
  releaseHours: 24,
  releaseLostShare: 0.5,
}

/** Counts of the changes that a list would make. Fields that only the other kind of list can change are 0. */
export interface SnapshotDiff {
  /** Live (or available) routes before the list. */
  readonly live: number
  readonly added: number
  /** Added routes that a run of the last 24 hours removed. */
  readonly readded: number
  readonly gained: number
  /** Live (or available) routes that the list lacks. */
  readonly missing: number
  /** Missing routes without a pending absence. */
  readonly newlyAbsent: number
  /** Removals that the list would confirm. */
  readonly removed: number
  /** Losses of availability that the list would confirm. */
  readonly lost: number
  /** Routes that unsuspicious lists removed in the last 24 hours and that are still removed. */
  readonly removedLastDay: number
  readonly knownPlaces: number
  readonly placesChanged: number
  /** Pairs of a `with-availability` list that are not among the routes; null if they were not counted. */
  readonly unknownPairs: number | null
}

/** What the guard judges. */
export interface SnapshotEffect extends Omit<SnapshotDiff, 'gained' | 'lost' | 'unknownPairs'> {
  readonly baseline: boolean
  /** Whether the list has the bytes of the last accepted one; an operator may have approved an empty list. */
  readonly repeated: boolean
  /** Distinct known routes in the list. */
  readonly listed: number
}

/**
 * Returns why a list is suspicious, or null. A suspicious list is held whole: nothing of it is applied.
 *
 * Each rule stands for one accident: an empty response, half a list, two lists in one, shifted columns, and a slow
 * leak that stays below the limit of a single list.
 */
export function suspicionOf(effect: SnapshotEffect, limits: GuardLimits): SyncReason | null {
  if (effect.listed === 0 && !effect.repeated) return { code: 'empty', text: 'the list is empty' }
  if (effect.baseline) return null
  return (
    massAbsence(effect, limits) ??
    massAddition(effect, limits) ??
    massPlaceChange(effect, limits) ??
    massRemoval(effect, limits)
  )
}

function massAbsence(effect: SnapshotEffect, limits: GuardLimits): SyncReason | null {
  const { newlyAbsent, live } = effect
  if (newlyAbsent < limits.minimum || newlyAbsent <= limits.absentShare * live) return null
  return {
    code: 'mass_absence',
    text: `${count(newlyAbsent)} of ${count(live)} routes are missing at once (${percent(newlyAbsent / live)}, limit ${percent(limits.absentShare)})`,
  }
}

function massAddition(effect: SnapshotEffect, limits: GuardLimits): SyncReason | null {
  const { live } = effect
  // Routes removed in the last 24 h do not count as growth: the list that repairs a truncated one must not be held.
  const fresh = effect.added - effect.readded
  if (live < limits.growthFrom || fresh <= limits.growthShare * live) return null
  return {
    code: 'mass_addition',
    text: `${count(fresh)} routes are new, ${count(live)} were live (${percent(fresh / live)}, limit ${percent(limits.growthShare)})`,
  }
}

function massPlaceChange(effect: SnapshotEffect, limits: GuardLimits): SyncReason | null {
  const { placesChanged, knownPlaces } = effect
  if (placesChanged < limits.minimum) return null
  if (placesChanged < limits.placesChangedShare * knownPlaces) return null
  return {
    code: 'mass_place_change',
    text: `${count(placesChanged)} of ${count(knownPlaces)} known places have other attributes (${percent(placesChanged / knownPlaces)}, limit ${percent(limits.placesChangedShare)})`,
  }
}

function massRemoval(effect: SnapshotEffect, limits: GuardLimits): SyncReason | null {
  const inADay = effect.removed + effect.removedLastDay
  const liveADayAgo = effect.live + effect.removedLastDay
  if (effect.removed === 0 || inADay < limits.minimum) return null
  if (inADay <= limits.removedPerDayShare * liveADayAgo) return null
  return {
    code: 'mass_removal',
    text: `${count(inADay)} of ${count(liveADayAgo)} routes would be removed within 24 hours (${percent(inADay / liveADayAgo)}, limit ${percent(limits.removedPerDayShare)})`,
  }
}

const NUMBER = new Intl.NumberFormat('en-US')

function count(value: number): string {
  return NUMBER.format(value)
}

/** @example percent(0.153) // '15.3 %' */
export function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}
