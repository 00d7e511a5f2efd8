import type { SyncReason } from '../runs/sync-run.ts'

/** From which point on a list is not believed at first sight, and what releases it. Shares are fractions of 1. */
export interface GuardLimits {
  /** Routes (or available routes) that may be newly absent at once. */
  readonly absentShare: number
  /** Below this many, an absence or a place change is never suspicious: small lists move in large shares. */
  readonly minimum: number
  /** Routes whose removal may be confirmed within 24 hours. */
  readonly removedPerDayShare: number
  /** From this many live routes on, additions are judged. */
  readonly growthFrom: number
  /** Routes that may be new at once, of the live ones. */
  readonly growthShare: number
  /** Known places whose attributes may change at once. */
  readonly placesChangedShare: number
  /** Two lists agree that differ in at most this share of the larger one. */
  readonly agreementShare: number
  /** So many lists that agree release themselves, */
  readonly releaseLists: number
  /** once they span as many hours, */
  readonly releaseHours: number
  /** unless they lack more than this share of the live routes. */
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

/** What a snapshot would do, in numbers, were it applied. */
export interface SnapshotEffect {
  readonly baseline: boolean
  /** Whether it is the last accepted list again, which a person may have approved though it is empty. */
  readonly repeated: boolean
  /** Distinct routes in the snapshot. */
  readonly listed: number
  /** Live (or available) routes before it. */
  readonly live: number
  /** Live routes that it lacks and that none before it lacked. */
  readonly newlyAbsent: number
  /** Live routes that it lacks, whether one before it lacked them or not. */
  readonly missing: number
  readonly added: number
  /** Of those, the ones that a run of the last 24 hours removed. */
  readonly broughtBack: number
  /** Removals that it would confirm. */
  readonly removed: number
  /** Routes that are still gone, of those that lists removed within 24 hours which nobody doubted. */
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
  if (effect.listed === 0 && !effect.repeated) return { code: 'empty', text: 'the list is empty' }
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
    text: `${count(newlyAbsent)} of ${count(live)} routes are missing at once (${percent(newlyAbsent / live)}, limit ${percent(limits.absentShare)})`,
  }
}

function addedTooMany(effect: SnapshotEffect, limits: GuardLimits): SyncReason | null {
  const { live } = effect
  // What went a moment ago is no stranger: else the list that makes an accident good would be held for it.
  const fresh = effect.added - effect.broughtBack
  if (live < limits.growthFrom || fresh <= limits.growthShare * live) return null
  return {
    code: 'mass_addition',
    text: `${count(fresh)} routes are new where ${count(live)} were live (${percent(fresh / live)}, limit ${percent(limits.growthShare)})`,
  }
}

function placesChangedTooMany(effect: SnapshotEffect, limits: GuardLimits): SyncReason | null {
  const { placesChanged, knownPlaces } = effect
  if (placesChanged < limits.minimum) return null
  if (placesChanged < limits.placesChangedShare * knownPlaces) return null
  return {
    code: 'mass_place_change',
    text: `${count(placesChanged)} of ${count(knownPlaces)} known places have other attributes (${percent(placesChanged / knownPlaces)}, limit ${percent(limits.placesChangedShare)})`,
  }
}

function removedTooManyInADay(effect: SnapshotEffect, limits: GuardLimits): SyncReason | null {
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

/** 0.153 becomes "15.3 %". */
export function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}
