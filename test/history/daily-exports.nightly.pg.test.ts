import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { describe, expect, onTestFinished } from 'vitest'
import { exportTables } from '../../src/history/export-run.ts'
import { rollUpDay } from '../../src/history/roll-up-days.ts'
import { type Database, type Db, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import type { Route } from '../../src/upstream/route-list.ts'
import { available, endFares, gone, record, trackFare } from '../fares/fare-fixtures.ts'
import { NO_GUARD, place, routes, sync } from '../routes/sync-fixtures.ts'
import { it } from '../support/test-database.ts'
import { modelOf, openWarehouse } from './duckdb-warehouse.ts'
import { untilFinal } from './prune/prune-fixtures.ts'

const RUNS = 30
/** Where a run is killed, and whether it counts as taken by then. */
const KILLED: Readonly<Record<number, readonly [step: string, isTaken: boolean]>> = {
  1: ['writing daily_fares', false],
  6: ['writing availability_changes', false],
  13: ['writing the manifest', false],
  20: ['moving the state', true],
  27: ['writing sync_runs', false],
}

/**
 * The routes of a day: two stay, some come, some go, and one place has another name every fifth day, and another id from
 * the tenth.
 */
function listOf(day: number): Route[] {
  const pairs = Array.from({ length: 20 }, (_, i) => `PMI-D${(i * 7 + Math.floor(day / 2)) % 31}`)
  const city = `Palma ${Math.floor(day / 5)}`
  return routes('PMI-S0', 'PMI-S1', ...pairs).map((route) => ({
    ...route,
    departure: place(day < 10 ? 'PMI' : 'NEW', { city, iata: 'PMI' }),
  }))
}

/** What the worker writes on a day. */
async function aDay(db: Db, day: number, fares: readonly number[]): Promise<void> {
  const args = { confirmations: 1, guard: NO_GUARD }
  const list = listOf(day)
  await sync(db, list, args)
  // The two that stay lose and gain their availability in turn.
  await sync(db, list.slice(day % 2 === 0 ? 0 : 2), { ...args, list: 'with-availability' })
  // The belief of the first fare stays for days, while its checks go on.
  for (const [i, fare] of fares.entries()) {
    const at = new Date()
    const price = available(`${100 + ((day * i) % 7)}.50`)
    await record(db, fare, at, (day + i) % 5 === 0 ? gone : price)
  }
  if (day === 25) {
    await sql`update fare_state set departs_at = clock_timestamp() - interval '1 minute' where tracked_fare_id = ${fares.at(-1)}`.execute(
      db,
    )
    expect(await endFares(db)).toBeGreaterThan(0)
  }
  const dayOf = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10)
  await inTransaction(db, (tx) => rollUpDay(tx, day % 3 === 0 ? dayOf(1) : dayOf(0)))
}

/** Moves all that was written a day into the past. */
async function passDay(db: Db): Promise<void> {
  const instants = {
    sync_run: ['started_at', 'fetched_at', 'arrived_at', 'finished_at'],
    route_version: ['valid_from', 'valid_to'],
    route_availability_version: ['valid_from', 'valid_to'],
    place_version: ['valid_from', 'valid_to'],
    route_change: ['recorded_at'],
    fare_belief_version: ['valid_from', 'valid_to'],
    availability_change: ['recorded_at'],
  }
  for (const [table, columns] of Object.entries(instants)) {
    const moved = columns.map((column) => `${column} = ${column} - interval '1 day'`).join(', ')
    await sql`update ${sql.table(table)} set ${sql.raw(moved)}`.execute(db)
  }
}

interface Warehouse {
  readonly to: string
  readonly state: string
}

async function aWarehouse(): Promise<Warehouse> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'farewatch-warehouse-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return { to: path.join(folder, 'runs'), state: path.join(folder, 'state.json') }
}

function runOf(database: Database, warehouse: Warehouse): Promise<string[]> {
  return exportTables(database, { tables: ['all'], format: 'parquet', ...warehouse })
}

/** Resolves with the signal that ended it. */
async function killedRun(url: string, { to, state }: Warehouse, step: string) {
  const script = path.join(import.meta.dirname, 'killed-export.ts')
  const child = spawn(process.execPath, [script, url, to, state, step], { stdio: 'inherit' })
  const [, signal] = (await once(child, 'close')) as [unknown, string | null]
  return signal
}

/** How many runs are complete. */
async function runsOf({ to }: Warehouse): Promise<number> {
  const files = await readdir(to, { recursive: true })
  return files.filter((file) => file.endsWith('/export.json')).length
}

/** The tables of the warehouse by the models. `fares_current` has the age of the belief, which the clock moves. */
const TABLES: Readonly<Record<string, string>> = {
  route_changes: '*',
  availability_changes: '*',
  route_history: '*',
  durable_route_history: '*',
  route_availability_history: '*',
  place_history: '*',
  fare_history: '*',
  sync_runs: '*',
  daily_network: '*',
  daily_country_pairs: '*',
  daily_place_degree: '*',
  daily_fares: '*',
  daily_hubs: '*',
  daily_prices: '*',
  daily_airlines: '*',
  daily_delays: '*',
  prices_by_days_to_departure: '*',
  places: '*',
  place_renumberings: '*',
  fares_current: '* exclude (age_seconds)',
  fare_survival: '*',
}

describe('a warehouse that daily exports fill', () => {
  it('equals the database cell by cell after thirty runs, some of them killed', async ({
    database,
    databaseUrl,
  }) => {
    const { db } = database
    const fares = await Promise.all(
      ['W1', 'W2', 'W3', 'W4'].map((flightId) => trackFare(db, { flightId })),
    )
    for (const day of [-2, -1, 0]) {
      await aDay(db, day, fares)
      await passDay(db)
    }
    const warehouse = await aWarehouse()

    for (let day = 1; day <= RUNS; day += 1) {
      await aDay(db, day, fares)
      const [step, isTaken] = KILLED[day] ?? []
      if (step === undefined) {
        await runOf(database, warehouse)
        continue
      }
      const before = day === 1 ? 0 : await runsOf(warehouse)
      expect([day, await killedRun(databaseUrl, warehouse, step)]).toEqual([day, 'SIGKILL'])
      expect((await runsOf(warehouse)) - before).toBe(isTaken ? 1 : 0)
    }
    await untilFinal(db)
    await runOf(database, warehouse)

    const whole = `${warehouse.to}-whole`
    await exportTables(database, { tables: ['all'], format: 'parquet', to: whole })
    const duckDb = await openWarehouse(warehouse.to)
    for (const [table, columns] of Object.entries(TABLES)) {
      const ours = `select ${columns} from ${table}`
      const theirs = `select ${columns} from '${whole}/${table}.parquet'`
      const [[rows, ...different] = []] = await duckDb.rows(`
        select (select count(*) from (${theirs})),
               (select count(*) from (${ours} except all ${theirs})), (select count(*) from (${theirs} except all ${ours}))
      `)
      expect([table, Number(rows) > 0, ...different]).toEqual([table, true, '0', '0'])
    }
    for (const [model, view] of [
      ['routes_current', 'routes_current'],
      ['churn_by_day', 'daily_route_churn'],
    ]) {
      const ours = await modelOf(model ?? '')
      const theirs = `select * from '${whole}/${view}.parquet'`
      expect([view, await duckDb.rows(`from (${ours}) except all ${theirs}`)]).toEqual([view, []])
      expect([view, await duckDb.rows(`${theirs} except all from (${ours})`)]).toEqual([view, []])
    }
    expect(
      await duckDb.rows(
        `select seq from rows_of_runs('route_changes') group by 1 having count(*) > 1`,
      ),
    ).toEqual([])
  })

  it('has a row that was committed after a later one, as soon as its transaction has ended', async ({
    database,
  }) => {
    const { db } = database
    const warehouse = await aWarehouse()
    await sync(db, routes('PMI-MAD'), { guard: NO_GUARD })
    const late = await db.startTransaction().execute()
    await sql`
      insert into route_version (departure_id, destination_id, valid_from, added_by)
      select 'PMI', 'LATE', clock_timestamp(), max(id) from sync_run
    `.execute(late)
    await sync(db, routes('PMI-MAD', 'PMI-BCN'), { guard: NO_GUARD, confirmations: 1 })

    const rows = async () =>
      (await openWarehouse(warehouse.to)).rows(
        'select destination_id from route_history order by valid_from',
      )
    await runOf(database, warehouse)
    const meanwhile = await rows()
    await late.commit().execute()
    await untilFinal(db)
    await runOf(database, warehouse)

    expect(meanwhile).toEqual([['MAD']])
    expect(await rows()).toEqual([['MAD'], ['LATE'], ['BCN']])
  })
})
