import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { describe, expect, onTestFinished } from 'vitest'
import { exportTables, streamTable } from '../../src/history/export-run.ts'
import { rollUpDay } from '../../src/history/roll-up-days.ts'
import { sql } from '../../src/platform/db/database.ts'
import { beginGeneration } from '../../src/platform/db/generations.ts'
import { inTransaction, selectOne } from '../../src/platform/db/transaction.ts'
import { seedAnalytics } from '../routes/analytics-history.ts'
import { it } from '../support/test-database.ts'
import { openDuckDb } from './duckdb-warehouse.ts'

async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'farewatch-export-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  return directory
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

    const files = await exportTables(database, {
      tables: ['all'],
      format: 'parquet',
      to: directory,
    })
    const { rows: readParquet } = await openDuckDb()

    expect(new Set(await readdir(directory))).toEqual(
      new Set(files.map((file) => path.basename(file))),
    )
    for (const file of files.filter((name) => name.endsWith('.parquet'))) {
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
        `select fare_id, price, currency, valid_from, valid_to, outbound_departs_local, outbound_flight_numbers::json ->> 1,
                typeof(fare_id), typeof(price), typeof(valid_from), typeof(outbound_departs_local)
           from TABLE where fare_id = 1 order by valid_from desc limit 2`,
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
        '2026-06-20 10:00:00',
        '22',
        'BIGINT',
        'DECIMAL(18,4)',
        'TIMESTAMP WITH TIME ZONE',
        'TIMESTAMP',
      ],
    ])
    expect(
      await read(
        'route_changes',
        `select attributes_before ->> 'available', typeof(id), departure_city from TABLE where kind = 'route_removed' order by seq limit 1`,
      ),
    ).toEqual([[null, 'VARCHAR', 'Palma']])
    expect(await read('daily_network', `select distinct day, typeof(day) from TABLE`)).toEqual([
      ['2025-07-01', 'DATE'],
    ])
    expect(
      await read(
        'fare_survival',
        `select typeof(lasted_seconds), lasted_seconds from TABLE where fare_id = 2`,
      ),
    ).toEqual([['DOUBLE', '2937600']])
  })

  it.for([
    [{ tables: ['nowhere'] }, /there is no table "nowhere"; there are: availability_changes, /],
    [{ tables: ['places'], from: 3 }, /"places" has no numbers of a feed/],
    [
      { tables: ['places'], from: new Date(0) },
      /shows the present, and does not say when its rows changed: export it whole/,
    ],
    [{ tables: ['fare_history'], from: 3 }, /--from takes an instant, and --state takes each row/],
    [{ tables: ['places', 'sync_runs'] }, /standard output takes one table/],
    [{ tables: ['places'], state: 'x' }, /takes no --state/],
  ] as const)('an impossible export is refused: %o', async ([options, message], { database }) => {
    await expect(
      streamTable(database, { format: 'csv', ...options }, new PassThrough()),
    ).rejects.toThrow(message)
  })

  // Fault: An export fails midway, or its reader stops. No file of it appears, and the connection is not reused with a
  // half-read COPY.
  it('a decimal that does not fit fails the export, and leaves neither a file nor a lost connection', async ({
    database,
  }) => {
    await seedAnalytics(database.db)
    await sql`update fare_belief_version set price = 0.12345 where tracked_fare_id = 3`.execute(
      database.db,
    )
    const directory = await temporaryDirectory()

    await expect(
      exportTables(database, { tables: ['fare_history'], format: 'parquet', to: directory }),
    ).rejects.toThrow('0.12345 does not fit')

    expect(await readdir(directory)).toEqual([])
    await exportTables(database, { tables: ['places'], format: 'csv', to: directory })
    expect(await readFile(path.join(directory, 'places.csv'), 'utf8')).toContain('Lisbon')
  })

  it('an export overwrites no other, and completes one that was killed', async ({ database }) => {
    await seedAnalytics(database.db)
    const to = await temporaryDirectory()
    await writeFile(path.join(to, 'route_changes.csv'), 'a part of an export without a manifest')
    const request = { tables: ['route_changes'], format: 'csv', to } as const

    await exportTables(database, { ...request, from: 26 })
    await expect(exportTables(database, request)).rejects.toThrow(
      /export\.json exists: remove that export, or choose another place/,
    )

    const lines = (await readFile(path.join(to, 'route_changes.csv'), 'utf8')).trimEnd().split('\n')
    expect(lines.length).toBe(8)
    expect(await readdir(to)).toEqual(['export.json', 'route_changes.csv'])
    expect(JSON.parse(await readFile(path.join(to, 'export.json'), 'utf8'))).toMatchObject({
      run: null,
      generation: 1,
      tables: [
        {
          name: 'route_changes',
          key: 'seq',
          first: 26,
          last: 32,
          rows: 7,
          file: 'route_changes.csv',
        },
      ],
    })
  })

  it('a state is refused in another place, database or generation, and after a prune took what no run had', async ({
    database,
  }) => {
    const { db } = database
    await seedAnalytics(db)
    const folder = await temporaryDirectory()
    const state = path.join(folder, 'state.json')
    const to = path.join(folder, 'runs')
    const request = {
      tables: ['route_changes', 'route_history'],
      format: 'parquet',
      state,
    } as const
    const run = (changes: object = {}) => exportTables(database, { ...request, to, ...changes })
    await run()
    const stored = await readFile(state, 'utf8')
    const runWith = async (changes: object) => {
      await writeFile(state, JSON.stringify({ ...(JSON.parse(stored) as object), ...changes }))
      return run().finally(() => writeFile(state, stored))
    }

    await expect(run({ from: 3 })).rejects.toThrow(/--state knows what is new/)
    await expect(run({ format: 'csv' })).rejects.toThrow(/--state writes Parquet/)
    await expect(run({ to: folder })).rejects.toThrow(/is the state of the runs in runs/)
    await expect(run({ state: path.join(folder, 'no', 'state.json') })).rejects.toThrow(
      /of the state does not exist/,
    )
    await expect(runWith({ tables: { route_changes: 'x' } })).rejects.toThrow(
      /is not the state of an export/,
    )
    await expect(runWith({ database: '1-1' })).rejects.toThrow(
      /is of another database: load everything again/,
    )
    await expect(runWith({ tables: { route_changes: 999 } })).rejects.toThrow(
      /goes on with 999 of "route_changes", and this database ends at 32/,
    )
    // Tests of other databases may hold it back, but not below what it is now.
    const { xid } = await selectOne(
      sql<{ xid: string }>`select pg_snapshot_xmin(pg_current_snapshot())::text as xid`,
      db,
    )
    await sql`update prune set before = '2026-06-01T00:00Z', written_before = ${xid}`.execute(db)
    await sql`update feed_head set first_seq = 30 where feed = 'route'`.execute(db)
    await expect(runWith({ tables: { route_changes: 29 } })).rejects.toThrow(
      /"route_changes" was pruned up to 30, and the last run took what is below 29/,
    )
    await expect(runWith({ tables: { route_history: 9 } })).rejects.toThrow(
      /"route_history" was pruned up to/,
    )
    expect(await readFile(state, 'utf8')).toBe(stored)
    await sql`update prune set written_before = '0'`.execute(db)
    expect(path.basename((await run()).at(-1) ?? '')).toBe('export.json')
    await beginGeneration(db)
    await expect(run()).rejects.toThrow(
      /is of generation 1, and a restore began generation 2: load everything again/,
    )
    expect(await readdir(to)).toEqual(['run=1', 'run=2'])
  })
})
