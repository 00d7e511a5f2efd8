import { decimal, integer } from './settings.ts'

const SHARE = { min: 0.01, max: 100 }

/** From which point on a route list is held for review, and what releases it; docs/reference/guard.md gives the reasons. */
export const GUARD_SETTINGS = {
  GUARD_ABSENT_PERCENT: decimal('share of the live routes that may be newly absent at once', {
    ...SHARE,
    preset: 15,
  }),
  GUARD_MINIMUM_ROUTES: integer('fewer absences, removals or edits than this are never held', {
    min: 1,
    max: 1_000_000,
    preset: 10,
  }),
  GUARD_REMOVED_PER_DAY_PERCENT: decimal('share of the routes that may be removed in 24 hours', {
    ...SHARE,
    preset: 25,
  }),
  GUARD_GROWTH_PERCENT: decimal('share of the live routes that may be new at once', {
    min: 1,
    max: 10_000,
    preset: 100,
  }),
  GUARD_GROWTH_FROM_ROUTES: integer('live routes from which on new ones are judged', {
    min: 0,
    max: 1_500_000,
    preset: 1000,
  }),
  GUARD_PLACES_CHANGED_PERCENT: decimal('share of the known places from which on edits are held', {
    ...SHARE,
    preset: 50,
  }),
  GUARD_AGREEMENT_PERCENT: decimal('share of the larger list in which two that agree may differ', {
    min: 0,
    max: 10,
    preset: 1,
  }),
  GUARD_RELEASE_LISTS: integer('held lists that agree and so release themselves', {
    min: 2,
    max: 1000,
    preset: 3,
  }),
  GUARD_RELEASE_HOURS: integer('hours that these lists must span', {
    min: 0,
    max: 8760,
    preset: 24,
  }),
  GUARD_RELEASE_LOST_PERCENT: decimal(
    'share of the live routes above which only a person releases',
    {
      ...SHARE,
      preset: 50,
    },
  ),
}
