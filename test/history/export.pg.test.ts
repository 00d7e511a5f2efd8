import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { DuckDBInstance } from '@duckdb/node-api'
import { describe, expect, onTestFinished } from 'vitest'
import { exportTables, type TableExport } from '../../src/history/export-tables.ts'
import { rollUpDay } from '../../src/history/roll-up-days.ts'
import { type Database, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { seedAnalytics } from '../routes/analytics-history.ts'
import { it } from '../support/test-database.ts'

async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'farewatch-export-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  return directory
}

/** What DuckDB reads from a file, every value as its text. */
async function readParquet(select: string): Promise<(string | null)[][]> {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  await connection.run(`set timezone = 'UTC'`)
  const reader = await connection.runAndReadAll(select)
  const rows = reader
    .getRows()
    .map((row) => row.map((cell) => (cell === null ? null : String(cell))))
  connection.closeSync()
  instance.closeSync()
  return rows
}

async function exportText(
  database: Database,
  options: Omit<TableExport, 'stream'>,
): Promise<string[]> {
  const stream = new PassThrough()
  const [text] = await Promise.all([
    buffer(stream),
    exportTables(database, { ...options, stream }).finally(() => stream.end()),
  ])
  return text.toString('utf8').trimEnd().split('\n')
}

describe('an export of public tables', () => {
  it('DuckDB reads the Parquet files of all tables as PostgreSQL has them, with their types', async ({
    database,
  }) => {
    const { db } = database
    await seedAnalytics(db)
    await sql`update fare_flights set outbound_from = 'PMI', outbound_numbers = array[1, 22]`.execute(
      db,
    )
    await inTransaction(db, (tx) => rollUpDay(tx, '2025-07-01'))
    const directory = await temporaryDirectory()

    const files = await exportTables(database, { tables: ['all'], format: 'parquet', directory })

    expect(new Set(await readdir(directory))).toEqual(
      new Set(files.map((file) => path.basename(file))),
    )
    for (const file of files) {
      const table = path.basename(file, '.parquet')
      const { rows } = await sql<{
        count: number
      }>`select count(*) from ${sql.table(`farewatch.${table}`)}`.execute(db)
      expect([table, await readParquet(`select count(*) from '${file}'`)]).toEqual([
        table,
        [[String(rows[0]?.count)]],
      ])
    }
    const read = (table: string, rest: string) =>
      readParquet(rest.replace('TABLE', `'${path.join(directory, table)}.parquet'`))
    expect(
      await read(
        'fare_history',
        `select tracked_fare_id, price, currency, valid_from, valid_to, outbound_departs_local, outbound_flight_numbers::json ->> 1,
                typeof(tracked_fare_id), typeof(price), typeof(valid_from), typeof(outbound_departs_local)
           from TABLE where tracked_fare_id = 1 order by valid_from desc limit 2`,
      ),
    ).toEqual([
      [
        '1',
        null,
        null,
        '2026-06-01 10:00:00+00',
        null,
        '2026-06-20 10:00:00',
        '22',
        'BIGINT',
        'DECIMAL(18,4)',
        'TIMESTAMP WITH TIME ZONE',
        'TIMESTAMP',
      ],
      [
        '1',
        '150.0000',
        'EUR',
        '2026-05-25 10:00:00+00',
        '2026-06-01 10:00:00+00',
        null,
        null,
        'BIGINT',
        'DECIMAL(18,4)',
        'TIMESTAMP WITH TIME ZONE',
        'TIMESTAMP',
      ],
    ])
    expect(
      await read(
        'route_changes',
        `select before ->> 'available', typeof(id), departure_city from TABLE where kind = 'route_removed' order by seq limit 1`,
      ),
    ).toEqual([[null, 'VARCHAR', 'Palma']])
    expect(await read('daily_network', `select distinct day, typeof(day) from TABLE`)).toEqual([
      ['2025-07-01', 'DATE'],
    ])
    expect(
      await read(
        'fare_survival',
        `select typeof(lasted_seconds), lasted_seconds from TABLE where tracked_fare_id = 2`,
      ),
    ).toEqual([['DOUBLE', '2937600']])
  })

  it('CSV and lines of JSON have instants as ISO 8601, and JSON has decimals as text', async ({
    database,
  }) => {
    await seedAnalytics(database.db)

    const csv = await exportText(database, { tables: ['places'], format: 'csv' })
    const lines = await exportText(database, {
      tables: ['availability_changes'],
      format: 'jsonl',
      since: 19,
    })
    const history = await exportText(database, {
      tables: ['farewatch.fare_history'],
      format: 'jsonl',
      since: new Date('2026-06-20T00:00Z'),
    })

    expect(csv[0]).toMatch(/^place_id,iata,city,country,iso_country,/)
    expect(csv.find((line) => line.startsWith('p5,'))).toMatch(
      /^p5,NCE,Nice Côte d'Azur,France,FR,EU,[\d.]+,[\d.]+,Europe\/Paris,2024-06-01T06:00:00.000000Z,/,
    )
    const first = JSON.parse(lines[0] ?? '') as Record<string, unknown>
    expect(first).toMatchObject({ seq: 20, before: { pair: expect.any(String) as string } })
    expect(history.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({
        tracked_fare_id: 10,
        price: '50.00',
        valid_to: '2026-06-20T00:00:00.000000Z',
      }),
      expect.objectContaining({ tracked_fare_id: 10, price: null, valid_to: null }),
    ])
  })

  it.for([
    [{ tables: ['nowhere'] }, /there is no table "nowhere"; there are: availability_changes, /],
    [{ tables: ['places'], since: 3 }, /"places" has no column seq/],
    [{ tables: ['places'], since: new Date(0) }, /does not say when its rows changed/],
    [{ tables: ['places', 'sync_runs'] }, /standard output takes one table/],
  ] as const)('an impossible export is refused: %o', async ([options, message], { database }) => {
    await expect(
      exportTables(database, { format: 'csv', stream: new PassThrough(), ...options }),
    ).rejects.toThrow(message)
  })

  it('a decimal that does not fit fails the export, and leaves neither a file nor a lost connection', async ({
    database,
  }) => {
    await seedAnalytics(database.db)
    await sql`update fare_belief_version set price = 0.12345 where tracked_fare_id = 3`.execute(
      database.db,
    )
    const directory = await temporaryDirectory()

    await expect(
      exportTables(database, { tables: ['fare_history'], format: 'parquet', directory }),
    ).rejects.toThrow('0.12345 does not fit')

    expect(await readdir(directory)).toEqual([])
    await exportTables(database, { tables: ['places'], format: 'csv', directory })
    expect(await readFile(path.join(directory, 'places.csv'), 'utf8')).toContain('Lisbon')
  })

  it('a reader that stops early ends the export', async ({ database }) => {
    await sql`
      insert into sync_run (list, status, started_at, fetched_at, finished_at, reason)
      select 'routes', 'applied', now(), now(), now(), repeat('x', 1000) from generate_series(1, 20000)
    `.execute(database.db)
    const stream = new PassThrough()
    stream.once('data', () => stream.destroy())

    await expect(
      exportTables(database, { tables: ['sync_runs'], format: 'csv', stream }),
    ).rejects.toThrow(/premature|closed/i)

    const { rows } = await sql<{ one: number }>`select 1 as one`.execute(database.db)
    expect(rows).toEqual([{ one: 1 }])
  })
})
