import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { limitBudget } from '../../src/upstream/budget/budget-limit.ts'
import { trackFares } from '../schedule/schedule-fixtures.ts'
import { runCommand } from '../support/run-command.ts'
import { it } from '../support/test-database.ts'

const plan = (delay: string, env: Record<string, string>) =>
  runCommand(['budget', 'plan', '--fares', '20000', '--delay', delay], env)

/** Fares as their checks leave them: alike, each with one change a day. */
async function trackChecked(db: Db, count: number): Promise<void> {
  await trackFares(
    db,
    Array.from({ length: count }, () => ({})),
  )
  await sql`update fare_schedule set rate = ${5 / count}, changes_per_day = 1`.execute(db)
}

describe('farewatch budget plan', () => {
  it('prints the budget for a delay, and what the present fares get and need', async ({
    db,
    databaseUrl,
  }) => {
    await trackChecked(db, 600)

    const { exit, stdout, stderr } = await plan('5m', { DATABASE_URL: databaseUrl })

    expect(exit, stderr).toBe(0)
    expect(stdout.split('\n')).toEqual([
      'fares                           20,000',
      'interval seconds                315.789',
      'requests per second             63.333',
      'with lanes requests per second  105.556',
      'p50 seconds                     157.895',
      'p95 seconds                     300',
      expect.stringMatching(
        /^present {25}fares 600, requests per second 5, delays \(p50 seconds 60, p95 seconds 114\), needed/,
      ),
      '',
    ])
  })

  it('counts with the limit of an operator', async ({ db, databaseUrl }) => {
    await trackChecked(db, 1)
    const until = new Date('2100-01-01T00:00:00Z')
    await limitBudget(db, { requestsPerSecond: 2, until, reason: 'they asked', by: 'cli' })

    const { stdout } = await plan('5m', { DATABASE_URL: databaseUrl })

    expect(stdout).toContain('requests per second 2, limited until 2100-01-01 00:00:00 UTC')
  })

  it.for([
    ['30s', 'MIN_INTERVAL_SECONDS is 60'],
    ['5', 'such as 90s or 5m'],
  ] as const)('refuses a delay of %s and says why', async ([delay, reason], { databaseUrl }) => {
    const { exit, stdout, stderr } = await plan(delay, { DATABASE_URL: databaseUrl })

    expect([exit, stdout]).toEqual([2, ''])
    expect(stderr).toContain(reason)
  })
})
