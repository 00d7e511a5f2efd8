/**
 * Runs the questions of docs/analytics/questions on the sample network and draws their answers to docs/plots.
 *
 *   npm run charts
 */
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { acquireEmbeddedPostgres } from '../../src/embedded/postgres.ts'
import { findPlace } from '../../src/embedded/postgres-place.ts'
import { createLogger } from '../../src/platform/base/logger.ts'
import { type Db, openDatabase, sql } from '../../src/platform/db/database.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { barChart, lineChart, periodChart, writeChart } from './chart.ts'
import { instantOf, sampleNetwork } from './sample-network.ts'
import { type WorkedQuestion, workedQuestions } from './worked-questions.ts'
import { writeSample } from './write-sample.ts'

type Row = Readonly<Record<string, string | number | Date | null>>
type Draw = (rows: readonly Row[]) => string[]

const CHARTS: Readonly<Record<string, Draw>> = {
  'hub-concentration': (rows) =>
    lineChart({
      vertical: 'percent of all routes that leave from the ten largest places',
      horizontal: 'month',
      positions: rows.map((_, i) => i),
      labelOf: (i) => String(rows[i]?.month),
      series: [{ name: '', values: numbers(rows, 'percent_of_ten_largest') }],
    }),
  'country-pairs-year-on-year': (rows) =>
    barChart('difference in routes from one year to the next', bars(rows, 'pair', 'difference')),
  'one-way-routes': (rows) =>
    barChart('percent of the routes that are one-way', bars(rows, 'country', 'percent')),
  seasonality: (rows) =>
    lineChart({
      vertical: 'live routes, percent of the average month',
      horizontal: 'month of the year',
      positions: Array.from({ length: 12 }, (_, i) => i + 1),
      series: ['Greece', 'Spain', 'Germany', 'Norway'].map((country) => ({
        name: country,
        values: numbers(
          rows.filter((row) => row.country === country),
          'percent_of_average',
        ),
      })),
    }),
  'survival-of-new-routes': (rows) =>
    lineChart({
      vertical: 'percent of new routes that are still flown',
      horizontal: 'weeks since the route began',
      positions: numbers(rows, 'weeks'),
      series: [{ name: '', values: numbers(rows, 'percent_alive') }],
    }),
  'places-cut-off': (rows) =>
    periodChart(
      'times without any route from the place',
      rows.map((row) => ({
        label: `${row.city} (${row.iata})`,
        from: Number(row.cut_off_at),
        to: Number(row.served_again_at ?? END),
      })),
      [instantOf(0), END],
    ),
  'price-by-days-to-departure': (rows) =>
    lineChart({
      vertical: 'median price of the route = 100; and percent bookable',
      horizontal: 'days to departure',
      positions: numbers(rows, 'days_to_departure'),
      series: [
        { name: 'price', values: numbers(rows, 'price_index') },
        { name: 'bookable', values: numbers(rows, 'percent_bookable') },
      ],
    }),
}

const network = sampleNetwork()
const END = instantOf(network.days - 1)

function numbers(rows: readonly Row[], column: string): number[] {
  return rows.map((row) => Number(row[column]))
}

function bars(rows: readonly Row[], label: string, value: string) {
  return rows.map((row) => ({ label: String(row[label]), value: Number(row[value]) }))
}

async function draw(db: Db, { name, title, statement }: WorkedQuestion): Promise<void> {
  const chart = CHARTS[name]
  if (chart === undefined) throw new Error(`${name}.sql has no chart in write-charts.ts`)
  const now = `timestamptz '${new Date(END).toISOString()}'`
  const { rows } = await sql<Row>`${sql.raw(statement.replaceAll('now()', now))}`.execute(db)
  writeChart(name, title, chart(rows))
}

const log = createLogger({
  level: 'silent',
  scrub: (line) => line,
  destination: { write: () => undefined },
})
const home = await mkdtemp(path.join(os.tmpdir(), 'farewatch-charts-'))
const postgres = await acquireEmbeddedPostgres({ home, log })
const database = openDatabase({ url: postgres.url, applicationName: 'charts', log })
try {
  await migrate(database.db)
  await writeSample(database.db, network)
  for (const question of workedQuestions()) await draw(database.db, question)
} finally {
  await database.close()
  const { directory } = await findPlace(home)
  await postgres.release()
  await rm(directory, { recursive: true, force: true })
  await rm(home, { recursive: true, force: true })
}
