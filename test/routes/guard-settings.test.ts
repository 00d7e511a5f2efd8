import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { guardLimitsOf } from '../../src/app/settings-for.ts'
import { loadConfig } from '../../src/platform/config/config.ts'
import { SETTINGS } from '../../src/platform/config/settings.ts'
import { GUARD_LIMITS } from '../../src/routes/plan/guard.ts'

const PAGE = readFileSync(new URL('../../docs/reference/guard.md', import.meta.url), 'utf8')
/** A row of the page's tables: setting, default, and the accident as its last cell. */
const ROW = /^\| `(?<name>[A-Z_]+)` \| (?<preset>\d+) \|.* \| (?<accident>[^|]+) \|$/gm

const rows = [...PAGE.matchAll(ROW)].map(({ groups }) => ({ ...groups }))
const configOf = (env: Record<string, string>) => loadConfig(env, '/nowhere')

describe('docs/reference/guard.md', () => {
  it('the page lists every setting of the guard and the retention once, with its default', () => {
    const settings = Object.entries(SETTINGS)
      .filter(([name]) => name.startsWith('GUARD_') || name === 'SNAPSHOT_RETENTION_DAYS')
      .map(([name, { preset }]) => `${name} ${preset}`)

    const shown = rows.map(({ name, preset }) => `${name} ${preset}`)
    expect(new Set(shown)).toEqual(new Set(settings))
    expect(shown).toHaveLength(settings.length)
  })

  it('the page gives each setting the accident that it prevents', () => {
    expect(rows.filter(({ accident }) => (accident ?? '').trim().length < 20)).toEqual([])
  })
})

describe('the settings of the guard', () => {
  it('the defaults are the limits that the tests of the guard use', () => {
    expect(guardLimitsOf(configOf({}))).toEqual(GUARD_LIMITS)
  })

  it('each setting reaches its own limit, percent as shares', () => {
    const names = Object.keys(SETTINGS).filter((name) => name.startsWith('GUARD_'))
    const env = Object.fromEntries(names.map((name, i) => [name, String(2 + i / 2).split('.')[0]]))

    expect(
      guardLimitsOf(configOf({ ...env, GUARD_ABSENT_PERCENT: '7.5', GUARD_RELEASE_HOURS: '48' })),
    ).toEqual({
      ...GUARD_LIMITS,
      absentShare: 0.075,
      minimum: 2,
      removedPerDayShare: 0.03,
      growthShare: 0.03,
      growthFrom: 4,
      placesChangedShare: 0.04,
      agreementShare: 0.05,
      releaseLists: 5,
      releaseHours: 48,
      releaseLostShare: 0.06,
    })
  })

  it.each([
    ['GUARD_ABSENT_PERCENT', '0'],
    ['GUARD_ABSENT_PERCENT', '101'],
    ['GUARD_MINIMUM_ROUTES', '0'],
    ['GUARD_REMOVED_PER_DAY_PERCENT', '-1'],
    ['GUARD_GROWTH_PERCENT', '0.5'],
    ['GUARD_GROWTH_FROM_ROUTES', '1.5'],
    ['GUARD_PLACES_CHANGED_PERCENT', '15%'],
    ['GUARD_AGREEMENT_PERCENT', '11'],
    ['GUARD_RELEASE_LISTS', '1'],
    ['GUARD_RELEASE_HOURS', '24h'],
    ['GUARD_RELEASE_LOST_PERCENT', '1e2'],
    ['SNAPSHOT_RETENTION_DAYS', '0'],
  ])('the start fails when %s is %s', (name, value) => {
    expect(() => configOf({ [name]: value })).toThrow(new RegExp(`${name} must be a`))
  })
})
