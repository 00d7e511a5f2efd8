import type { SyncReason } from './runs.ts'

/** When a list is held for review, and when agreeing lists end a review by themselves. Shares are fractions of 1. */
export interface GuardLimits {
  /** Live (or available) routes that lists may newly lack, until the history is known and at most. */
  readonly absentShare: number
  /** This share may always be absent, however quiet the history is. */
  readonly leastAbsentShare: number
  /** Departures that may lose all of at least `DEPARTURE_ROUTES` routes are fewer than this. */
  readonly emptiedDepartures: number
  /** Known places that a list may give under new ids are fewer than this. */
  readonly renumberedPlaces: number
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
  leastAbsentShare: 0.015,
  emptiedDepartures: 5,
  renumberedPlaces: 5,
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
  /** Missing and removed routes that the lists of the last 24 hours, this one included, were the first to lack. */
  readonly absentLastDay: number
  /** Departures of at least `DEPARTURE_ROUTES` live routes that lack all, some of them for less than 24 hours. */
  readonly emptied: number
  /** Removals that the list would confirm. */
  readonly removed: number
  /** Losses of availability that the list would confirm. */
  readonly lost: number
  /** Routes that unsuspicious lists removed in the last 24 hours and that are still removed. */
  readonly removedLastDay: number
  readonly knownPlaces: number
  /** Known places with other attributes than before, and than in the last accepted list. */
  readonly newlyEdited: number
  /** New places with the attributes of known ones. */
  readonly renumbered: number
  /** Changes of attributes that the list would confirm. */
  readonly placesChanged: number
  /** Pairs of a `with-availability` list that are not among the routes; null if they were not counted. */
  readonly unknownPairs: number | null
}

type Outcome = 'gained' | 'lost' | 'unknownPairs' | 'placesChanged'

/** What the guard judges. */
export interface SnapshotEffect extends Omit<SnapshotDiff, Outcome> {
  readonly history: LossHistory
  readonly baseline: boolean
  /** Whether the list has the bytes of the last accepted one; an operator may have approved an empty list. */
  readonly repeated: boolean
  /** Distinct known routes in the list. */
  readonly listed: number
}

/** A day (UTC) on which lists of one kind were accepted. */
export interface AcceptedDay {
  /** Days since the accepted day before it. */
  readonly days: number
  /** Live (or available) routes before its lists. */
  readonly live: number
  /** Routes that its lists removed, without those of approved and released lists: these were no normal days. */
  readonly removed: number
}

/** What the accepted lists of one kind say about normal losses. */
export interface LossHistory {
  /** The last accepted days in order, `HISTORY_DAYS` at most. */
  readonly accepted: readonly AcceptedDay[]
  readonly daysSinceLast: number
}

/** The limit follows from the accepted days that cover this many days, */
export const HISTORY_DAYS = 60
/** as soon as they cover this many. */
const KNOWN_FROM_DAYS = 30
/** An accepted day covers the days since the one before it, at most a week. */
const COVERED_DAYS = 7
/** An ordinary day may lose this many times what the worst day lost. */
const MARGIN = 2
/** Smaller departures lose all routes by chance. */
export const DEPARTURE_ROUTES = 5

/**
 * The share of the live routes that may go within 24 hours, or since the last accepted list if that is longer ago:
 * twice the largest daily loss of the history for each of these days. Until the history is known, the highest
 * limit.
 *
 * @example twice 0.76 % of one day // 0.0152
 */
export function absenceLimit(
  { accepted, daysSinceLast }: LossHistory,
  { absentShare, leastAbsentShare }: GuardLimits,
): number {
  let covered = 0
  let largest = 0
  for (const { days, live, removed } of accepted.toReversed()) {
    if (covered >= HISTORY_DAYS) break
    covered += Math.min(days, COVERED_DAYS)
    largest = Math.max(largest, removed / Math.max(1, live * days))
  }
  if (covered < KNOWN_FROM_DAYS) return absentShare
  const usual = MARGIN * largest * Math.max(1, daysSinceLast)
  return Math.min(absentShare, Math.max(leastAbsentShare, usual))
}

/**
 * Returns why a list is suspicious, or null. A suspicious list is held whole: nothing of it is applied.
 *
 * Each rule stands for one accident: an empty response, a part of a list, a list that was cut at its end, ids in
 * another form, two lists in one, shifted columns, and a slow leak that stays below the limit of a single list.
 */
export function suspicionOf(effect: SnapshotEffect, limits: GuardLimits): SyncReason | null {
  if (effect.listed === 0 && !effect.repeated) return { code: 'empty', text: 'the list is empty' }
  if (effect.baseline) return null
  return (
    massAbsence(effect, limits) ??
    emptiedDepartures(effect, limits) ??
    massAddition(effect, limits) ??
    massPlaceChange(effect, limits) ??
    renumberedPlaces(effect, limits) ??
    massRemoval(effect, limits)
  )
}

function massAbsence(effect: SnapshotEffect, limits: GuardLimits): SyncReason | null {
  const { newlyAbsent, absentLastDay, live, removedLastDay } = effect
  const liveADayAgo = live + removedLastDay
  const limit = absenceLimit(effect.history, limits)
  // A list that lacks nothing new is not suspicious for what was accepted before it.
  if (newlyAbsent === 0 || absentLastDay < limits.minimum) return null
  if (absentLastDay <= limit * liveADayAgo) return null
  const when = absentLastDay === newlyAbsent ? 'at once' : 'within 24 hours'
  return {
    code: 'mass_absence',
    text: `${count(absentLastDay)} of ${count(liveADayAgo)} routes are missing ${when} (${percent(absentLastDay / liveADayAgo)}, limit ${percent(limit)})`,
  }
}

function emptiedDepartures(effect: SnapshotEffect, limits: GuardLimits): SyncReason | null {
  const { newlyAbsent, absentLastDay, emptied } = effect
  if (newlyAbsent === 0 || absentLastDay < limits.minimum) return null
  if (emptied < limits.emptiedDepartures) return null
  return {
    code: 'departures_emptied',
    text: `${count(emptied)} departures of ${DEPARTURE_ROUTES} or more routes have none in the list`,
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
  const { newlyEdited, knownPlaces } = effect
  if (newlyEdited < limits.minimum) return null
  if (newlyEdited < limits.placesChangedShare * knownPlaces) return null
  return {
    code: 'mass_place_change',
    text: `${count(newlyEdited)} of ${count(knownPlaces)} known places have other attributes (${percent(newlyEdited / knownPlaces)}, limit ${percent(limits.placesChangedShare)})`,
  }
}

function renumberedPlaces({ renumbered }: SnapshotEffect, limits: GuardLimits): SyncReason | null {
  if (renumbered < limits.renumberedPlaces) return null
  return {
    code: 'places_renumbered',
    text: `${count(renumbered)} known places have a new id`,
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
