import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { guardLimitsOf } from '../../src/app/settings-for.ts'
import { loadConfig } from '../../src/platform/config/config.ts'
import { SETTINGS } from '../../src/platform/config/settings.ts'
import { GUARD_LIMITS } from '../../src/routes/guard.ts'

const PAGE = readFileSync(new URL('../../docs/reference/guard.md', import.meta.url), 'utf8')
/** A row of the page's tables: setting or limit, its value, and the accident as its last cell. */
const ROW = /^\| `(?<name>\w+)` \| (?<value>[\d.]+) \|.* \| (?<accident>[^|]+) \|$/gm

const rows = [...PAGE.matchAll(ROW)].map(({ groups }) => ({ ...groups }))
const configOf = (env: Record<string, string>) => loadConfig(env, '/nowhere')

describe('docs/reference/guard.md', () => {
  it('the page lists limits and settings once, with the values that hold', () => {
    const settings = Object.entries(SETTINGS).map(([name, { preset }]) => [name, preset] as const)
    const values = new Map<string, unknown>([...settings, ...Object.entries(GUARD_LIMITS)])

    expect(rows).toHaveLength(10)
    expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length)
    for (const { name = '', value } of rows)
      expect([name, values.get(name)]).toEqual([name, Number(value)])
  })

  it('the page gives each setting the accident that it prevents', () => {
    expect(rows.filter(({ accident }) => (accident ?? '').trim().length < 20)).toEqual([])
  })
})

describe('the settings of the guard', () => {
  it('the defaults are the limits that the tests of the guard use', () => {
    expect(guardLimitsOf(configOf({}))).toEqual(GUARD_LIMITS)
  })

  it('the highest share of absences is a setting, in percent', () => {
    expect(guardLimitsOf(configOf({ GUARD_ABSENT_PERCENT: '7.5' }))).toEqual({
      ...GUARD_LIMITS,
      absentShare: 0.075,
    })
  })

  it.each([
    ['GUARD_ABSENT_PERCENT', '0'],
    ['GUARD_ABSENT_PERCENT', '101'],
    ['SNAPSHOT_RETENTION_DAYS', '0'],
  ])('the start fails when %s is %s', (name, value) => {
    expect(() => configOf({ [name]: value })).toThrow(new RegExp(`${name} must be a`))
  })
})
