import { readFile } from 'node:fs/promises'
import { DuckDBInstance } from '@duckdb/node-api'
import { onTestFinished } from 'vitest'

const MODELS = new URL('../../docs/analytics/dbt/', import.meta.url)

/** DuckDB without a database. */
export interface DuckDb {
  run(statement: string): Promise<void>
  /** Every value as its text. */
  rows(select: string): Promise<(string | null)[][]>
  objects(select: string): Promise<Record<string, unknown>[]>
}

export async function openDuckDb(): Promise<DuckDb> {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  onTestFinished(() => {
    connection.closeSync()
    instance.closeSync()
  })
  await connection.run(`set timezone = 'UTC'`)
  return {
    run: async (statement) => void (await connection.run(statement)),
    objects: async (select) => (await connection.runAndReadAll(select)).getRowObjects(),
    rows: async (select) => {
      const reader = await connection.runAndReadAll(select)
      return reader.getRows().map((row) => row.map((cell) => (cell === null ? null : String(cell))))
    },
  }
}

/** The statement of a model. */
export function modelOf(name: string): Promise<string> {
  return readFile(new URL(`${name}.sql`, MODELS), 'utf8')
}

/** DuckDB with the tables of the runs in a folder, as docs/analytics/dbt defines them. */
export async function openWarehouse(directory: string): Promise<DuckDb> {
  const duckDb = await openDuckDb()
  await duckDb.run(`set variable warehouse = '${directory}'`)
  await duckDb.run(await modelOf('merge_increments'))
  return duckDb
}
