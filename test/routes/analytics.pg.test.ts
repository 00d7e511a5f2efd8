import { readFileSync } from 'node:fs'
import { describe, expect } from 'vitest'
import { rollUpDay } from '../../src/history/roll-up-days.ts'
import type { Database, Db } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { runAnalystQuery } from '../support/analyst-query.ts'
import { it } from '../support/test-database.ts'
import { seedAnalytics } from './analytics-history.ts'

const PAGE = readFileSync(new URL('../../docs/reference/questions.md', import.meta.url), 'utf8')

interface Question {
  readonly title: string
  readonly statement: string
}

/** The days for which the queries ask the daily tables. */
const DAYS = [
  ...['06-16', '06-23', '06-30', '07-07', '07-14'].map((day) => `2025-${day}`),
  ...['05-09', '05-10', '05-20', '05-31'].map((day) => `2026-${day}`),
]

async function rollUp(db: Db): Promise<void> {
  await inTransaction(db, async (tx) => {
    for (const day of DAYS) await rollUpDay(tx, day)
  })
}

/** The value of now() in the queries, where it is not the last day of the spring. */
const NOW: Readonly<Record<string, string>> = {
  'The share of available routes by country, over time': '2025-07-15T06:00Z',
  'What changed about places': '2025-08-02T06:00Z',
  'How old our knowledge of the routes was at an instant': '2025-02-20T18:00Z',
  'Gaps in our own watching': '2026-07-03T06:00Z',
}

/** Each section of the page that holds SQL. */
function queries(): Question[] {
  return PAGE.split(/^## /m)
    .slice(1)
    .map((section) => {
      const title = section.split('\n', 1)[0] ?? ''
      const statement = /```sql\n([\s\S]*?)```/.exec(section)?.[1] ?? ''
      const now = `timestamptz '${NOW[title] ?? '2026-06-01T06:00Z'}'`
      return { title, statement: statement.replaceAll('now()', now) }
    })
}

/** The expected rows of each query for the seeded history, cell by cell as Postgres writes them. */
const ANSWERS: Readonly<Record<string, readonly string[]>> = {
  'The network on a date': ['Spain | 4 | 2', 'Portugal | 2 | 0'],
  'Churn by country and month': [
    '2026-03 | Portugal | 3 | 3',
    '2026-04 | Portugal | 1 | 2',
    '2026-04 | Spain | 1 | 0',
    '2026-05 | Portugal | 1 | 0',
    '2026-05 | Spain | 1 | 0',
  ],
  'Routes that return each summer': ['p1 | p3'],
  'New destinations': ['Palma de Mallorca | Porto | Portugal | 2026-04-15 06:00:00+00 | t'],
  'The longest-lived routes': [
    'p1 | p2 | 1247 | 1 | t',
    'p2 | p1 | 1247 | 1 | t',
    'p3 | p2 | 1205 | 1 | t',
  ],
  Flappers: ['p3 | p4 | 3 | 6 days 16:00:00'],
  'The share of available routes by country, over time': [
    '2025-06-16 | Spain | 2 | 3 | 66.7',
    '2025-06-23 | Spain | 2 | 4 | 50.0',
    '2025-06-30 | Spain | 2 | 4 | 50.0',
    '2025-07-07 | Spain | 2 | 4 | 50.0',
    '2025-07-14 | Spain | 2 | 4 | 50.0',
  ],
  'What changed about places': [
    '2025-02-20 06:00:00+00 | p5 | NCE → NCE | Nice → Nice |  → France',
    "2025-08-01 06:00:00+00 | p5 | NCE → NCE | Nice → Nice Côte d'Azur | France → France",
  ],
  'How old our knowledge of the routes was at an instant': [
    'routes | 2025-02-10 06:00:00+00 | 3 days 12:00:00',
    'with-availability | 2025-02-10 06:00:00+00 | 3 days 12:00:00',
  ],
  'Gaps in our own watching': [
    'routes | 2025-02-10 06:00:00+00 | 2025-02-13 12:00:00+00 | 3 days 06:00:00 | dropped (mass_absence), rejected (upstream.contract_violation)',
    'routes | 2026-06-30 06:00:00+00 | - | 3 days | held (mass_absence)',
  ],
  'Time to sold out, by days before departure': [
    'departing | 1 | 11 days 09:59:40',
    '0-6 | 2 | 19 days 35:59:40',
    '7-29 | 1 | 6 days 23:59:40',
    '30 and more | 3 | 10 days 23:59:40',
  ],
  'What was believed of a fare at an instant, and since when': [
    'bookable | 135.50 | EUR | 2026-05-10 10:00:00+00 | 7 days 20:00:00',
  ],
  'The price path of a fare': [
    '2026-05-01 10:00:00+00 | 120.00 | EUR | -',
    '2026-05-10 10:00:00+00 | 135.50 | EUR | 15.50',
    '2026-05-25 10:00:00+00 | 150.00 | EUR | 14.50',
  ],
  // Two fares of one departure have prices in different currencies.
  'The prices of a route by day': [
    '2026-05-09 | 5 | 84.00 | 50.00 | 180.00 | -',
    '2026-05-10 | 3 | 91.83 | 50.00 | 135.50 | 7.83',
    '2026-05-20 | 2 | 70.00 | 50.00 | 90.00 | -21.83',
    '2026-05-31 | 6 | 85.00 | 50.00 | 170.00 | 15.00',
  ],
  'The prices of a route by days before departure': [
    '62 | 1 | 2 | 80.00 | 80.00 | 180.00',
    '50 | 1 | 1 | 50.00 | 50.00 | 50.00',
    '49 | 1 | 1 | 50.00 | 50.00 | 50.00',
    '42 | 1 | 1 | 120.00 | 120.00 | 120.00',
    '41 | 1 | 1 | 135.50 | 135.50 | 135.50',
    '40 | 1 | 2 | 85.00 | 85.00 | 170.00',
    '39 | 1 | 1 | 50.00 | 50.00 | 50.00',
    '32 | 1 | 1 | 90.00 | 90.00 | 90.00',
    '31 | 1 | 1 | 90.00 | 90.00 | 90.00',
    '28 | 1 | 1 | 50.00 | 50.00 | 50.00',
    '21 | 1 | 1 | 90.00 | 90.00 | 90.00',
    '20 | 1 | 1 | 150.00 | 150.00 | 150.00',
    '10 | 1 | 2 | 70.00 | 70.00 | 90.00',
  ],
  // Flights with an even number have prices of residents too, at a quarter.
  'What residents save, by route and day': [
    '2026-05-05 | PMI | MAD | 1 | 75.0',
    '2026-05-25 | PMI | MAD | 1 | 75.0',
    '2026-05-28 | PMI | MAD | 1 | 75.0',
    '2026-06-01 | PMI | MAD | 1 | 75.0',
  ],
  'Who sells a route most cheaply': [
    'Site of Blanca | EUR | 4 | 70.00 | 106.25',
    'Site of Azul | EUR | 6 | 60.00 | 129.25',
    'Site of Azul | GBP | 1 | 90.00 | 90.00',
  ],
  'What an adult pays, by week': [
    '2026-05-04 | EUR | 3 | 90.00 | 141.83',
    '2026-05-25 | EUR | 4 | 70.00 | 118.75',
    '2026-06-01 | EUR | 3 | 60.00 | 100.00',
    '2026-05-04 | GBP | 1 | 90.00 | 90.00',
  ],
  'Airlines by their share of the fares, and how often their prices change': [
    'Azul | 4 | 50.0 | 1 | 1',
    'Blanca | 4 | 50.0 | 0 | 0',
  ],
  'Fares that opened again': [
    '1 | 2026-05-20 10:00:00+00 | sold_out | 2026-05-25 10:00:00+00 | 5 days | 135.50 EUR | 150.00 EUR',
    '9 | 2026-05-05 00:00:00+00 | sold_out | 2026-05-07 00:00:00+00 | 2 days | 100.00 EUR | 90.00 GBP',
  ],
  'How late changes are recorded': [
    '2026-05-10 | price_changed | 1 | 0.0 | 0.0 | 60.0 | 60.0',
    '2026-05-20 | became_unavailable | 2 | 20.0 | 20.0 | 433830.0 | 824223.0',
  ],
  'Lists that were not believed': [
    '2025-02 | routes | approved | mass_absence | 1',
    '2025-02 | routes | dropped | mass_absence | 1',
    '2025-02 | routes | rejected | upstream.contract_violation | 3',
    '2026-01 | routes | dropped | mass_absence | 2',
    '2026-07 | routes | held | mass_absence | 1',
  ],
}

describe('the queries of the page for analysts', () => {
  it('every query of the page has expected rows here, and no other', () => {
    expect(queries().map(({ title }) => title)).toEqual(Object.keys(ANSWERS))
    expect(queries().filter(({ statement }) => statement === '')).toEqual([])
  })

  it('each query returns the expected rows, and the same rows in sessions of other time zones', async ({
    database,
  }) => {
    await seedAnalytics(database.db)
    await rollUp(database.db)

    for (const { title, statement } of queries()) {
      const { rows } = await runAnalystQuery(database, statement)
      const shown = rows.map((cells) => cells.map((cell) => cell ?? '-').join(' | '))
      expect([title, shown]).toEqual([title, ANSWERS[title]])
      const here = await queryIn(database.pool, 'UTC', statement)
      for (const zone of ['America/Los_Angeles', 'Pacific/Kiritimati']) {
        expect(await queryIn(database.pool, zone, statement), title).toEqual(here)
      }
    }
  })
})

/** Runs a query as the analyst role in a session of a time zone; instants are compared as Dates. */
async function queryIn(
  pool: Database['pool'],
  zone: string,
  statement: string,
): Promise<unknown[]> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await client.query(`select set_config('timezone', $1, true)`, [zone])
    await client.query('set local role farewatch_analyst')
    const { rows } = await client.query<Record<string, unknown>>(statement)
    return rows
  } finally {
    await client.query('rollback')
    client.release()
  }
}
