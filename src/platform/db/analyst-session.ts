import type { Socket } from 'node:net'
import pg from 'pg'
import { AppError } from '../base/errors.ts'
import type { Database } from './database.ts'

/** Postgres refused the statement. */
export class SqlError extends AppError {
  override readonly name = 'SqlError'
  override readonly code = 'db.sql'
}

/**
 * One read-only transaction, as role farewatch_analyst unless it is the owner's. All its statements see the
 * database at one instant.
 */
export interface AnalystSession {
  /** Runs one statement. Every value is the text that Postgres writes. */
  query(text: string): Promise<pg.QueryArrayResult<(string | null)[]>>
  /**
   * Runs one statement and hands its rows over in parts, at least one, so a result of any size takes little memory. The
   * server waits while a part is taken.
   */
  stream(text: string, take: (part: QueryResult) => Promise<void>): Promise<void>
}

interface SessionOptions {
  /** Whether statements may take as long as their reader needs. */
  readonly isUnlimited?: boolean
  /** Keeps the role of the owner, who may read the private schema too. For statements of ours alone. */
  readonly isOwner?: boolean
}

/**
 * Opens a session of an analyst for some work.
 *
 * This prevents mistakes, not attacks: the connection belongs to the owner of the tables, and a statement can take the
 * owner's role back (`reset role` in a DO block, `set_config`). People who must not write get a login of their own
 * (docs/analysts.md). Throws SqlError when Postgres refuses a statement.
 */
export async function asAnalyst<T>(
  { pool }: Pick<Database, 'pool'>,
  work: (session: AnalystSession) => Promise<T>,
  { isUnlimited = false, isOwner = false }: SessionOptions = {},
): Promise<T> {
  const client = await pool.connect()
  let isReusable = false
  try {
    await client.query('begin isolation level repeatable read read only')
    await client.query('set local search_path = farewatch')
    // A question over a long history sorts and hashes in memory. With the default of 4 MB it would write files.
    await client.query(`set local work_mem = '64MB'`)
    if (isUnlimited) {
      await client.query('set local statement_timeout = 0')
      await client.query('set local idle_in_transaction_session_timeout = 0')
      await client.query(`set local intervalstyle = 'iso_8601'`)
    }
    if (!isOwner) await client.query('set local role farewatch_analyst')
    const result = await work(sessionOf(client))
    await client.query('rollback')
    isReusable = true
    return result
  } catch (err) {
    // A reader that stopped early leaves the rest of its rows on the connection, and a rollback would wait for it.
    if (err instanceof pg.DatabaseError) {
      isReusable = await client.query('rollback').then(
        () => true,
        () => false,
      )
    }
    throw sqlErrorOf(err)
  } finally {
    client.release(!isReusable)
  }
}

const UNDEFINED_TABLE = '42P01'
const VIEWS_HINT = 'docs/analysts.md lists the views, such as farewatch.routes_current'

function sqlErrorOf(err: unknown): unknown {
  if (!(err instanceof pg.DatabaseError)) return err
  const hint = err.hint ?? (err.code === UNDEFINED_TABLE ? VIEWS_HINT : undefined)
  return new SqlError(`${err.message}${hint === undefined ? '' : ` (${hint})`}`, { cause: err })
}

function sessionOf(client: pg.PoolClient): AnalystSession {
  return {
    query: (text) => client.query(configOf(text)),
    stream: (text, take) => streamRows(client, configOf(text), take),
  }
}

function configOf(text: string): pg.QueryArrayConfig {
  return {
    text,
    // A prepared statement cannot hold a second one.
    name: '',
    rowMode: 'array',
    queryMode: 'extended',
    types: { getTypeParser: () => (value: string) => value },
  } as pg.QueryArrayConfig
}

const PART_ROWS = 5_000
const PART_CHARS = 4_000_000

/** A cursor would do as well, but PostgreSQL runs no statement of a cursor in parallel. */
function streamRows(
  client: pg.PoolClient,
  config: pg.QueryArrayConfig,
  take: (part: QueryResult) => Promise<void>,
): Promise<void> {
  // A member of every client that its types lack.
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
  return new Promise((resolve, reject) => {
    let rows: (string | null)[][] = []
    let chars = 0
    let taken = Promise.resolve()
    const hand = (fields: pg.FieldDef[]) => {
      const part = { columns: fields.map(columnOf), rows }
      rows = []
      chars = 0
      stream.pause()
      taken = taken.then(() => take(part)).then(() => void stream.resume())
      taken.catch(reject)
    }
    let isHanded = false
    const reader = new pg.Query<(string | null)[], unknown[]>(config)
    reader.on('row', (row, result) => {
      rows.push(row)
      chars += row.reduce((sum, cell) => sum + (cell?.length ?? 0), 0)
      if (rows.length < PART_ROWS && chars < PART_CHARS) return
      isHanded = true
      hand(result?.fields ?? [])
    })
    reader.on('end', ({ fields }) => {
      if (!isHanded || rows.length > 0) hand(fields)
      taken.then(resolve, reject)
    })
    reader.on('error', reject)
    client.query(reader)
  })
}

/** How a column's text is to be read. `numeric` is text: money is never a float. */
export type ColumnKind = 'text' | 'number' | 'boolean' | 'json' | 'instant'

interface ResultColumn {
  readonly name: string
  readonly kind: ColumnKind
}

/** The result of one SQL statement, or some rows of it. */
export interface QueryResult {
  readonly columns: readonly ResultColumn[]
  /** Values as Postgres writes them; null is null. */
  readonly rows: readonly (readonly (string | null)[])[]
}

/** By type id: bool; int8, int2, int4, oid, float4, float8; json, jsonb; timestamp, timestamptz. */
const KINDS: Readonly<Record<number, ColumnKind>> = {
  16: 'boolean',
  20: 'number',
  21: 'number',
  23: 'number',
  26: 'number',
  700: 'number',
  701: 'number',
  114: 'json',
  3802: 'json',
  1114: 'instant',
  1184: 'instant',
}

function columnOf({ name, dataTypeID }: pg.FieldDef): ResultColumn {
  return { name, kind: KINDS[dataTypeID] ?? 'text' }
}
