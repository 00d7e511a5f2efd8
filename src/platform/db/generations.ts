import type { Logger } from '../base/logger.ts'
import { type Db, type RawBuilder, sql } from './database.ts'
import { isDatabaseUnavailable } from './database-health.ts'
import { affected, inTransaction, selectOne } from './transaction.ts'

/**
 * How many numbers a generation of a feed has: its records have (generation - 1) × 10^10 + n. The numbers of 90,000
 * generations are exact in JSON, and have the 15 digits that the API takes.
 */
export const GENERATION_SPAN = 10 ** 10

/** The last number of a feed of which the generation in the row of `generation` has no record. */
export const GENERATION_START = sql<number>`(number - 1) * ${sql.lit(GENERATION_SPAN)}`

/** What differs between a database and its copies. */
interface Identity {
  /** The system identifier of the server and the oid of the database. */
  readonly database: string
  readonly timeline: number
}

export interface Generation {
  readonly number: number
  readonly beganAt: Date
  /** The identity of the database when the generation began. Null if it could not be read. */
  readonly database: string | null
  readonly timeline: number | null
}

/** The present generation of the feeds. */
export function readGeneration(db: Db): Promise<Generation> {
  return db
    .selectFrom('generation')
    .select(['number', 'began_at as beganAt', 'database', 'timeline'])
    .executeTakeFirstOrThrow()
}

/**
 * The identity of the database. Undefined if it cannot be read: the role may lack the right, and the server may
 * be a standby or another kind of PostgreSQL.
 */
export async function readIdentity(db: Db): Promise<Identity | undefined> {
  const identity = sql<Identity>`
    select s.system_identifier || '/' || d.oid as database,
           ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer as timeline
      from pg_control_system() s, pg_database d
     where d.datname = current_database()
  `
  return selectOne(identity, db).catch((err: unknown) => {
    if (isDatabaseUnavailable(err)) throw err
    return undefined
  })
}

/**
 * Begins a generation, and logs it, if the database is not the one of the last start: another server, another database, or
 * another timeline. Of processes that start together, one begins it. Call it before the process appends a record.
 */
export async function beginIfRestored(db: Db, log: Pick<Logger, 'warn'>): Promise<void> {
  const identity = await readIdentity(db)
  if (identity === undefined) return
  const { database, timeline } = await readGeneration(db)
  if (database === identity.database && timeline === identity.timeline) return
  await sql`
    update generation set database = ${identity.database}, timeline = ${identity.timeline} where database is null
  `.execute(db)
  const isAnother = sql`(database, timeline) is distinct from (${identity.database}, ${identity.timeline})`
  const begun = await begin(db, identity, isAnother)
  if (begun === undefined) return
  log.warn(
    { generation: begun.number },
    'the database is not that of the last start: a new generation of the feeds begins',
  )
}

interface Begun extends Pick<Generation, 'number' | 'beganAt'> {
  /** How many feeds of resellers there are. */
  readonly resellers: number
}

/** Begins a generation in any case. */
export async function beginGeneration(db: Db): Promise<Begun> {
  const begun = await begin(db, await readIdentity(db), sql`true`)
  if (begun === undefined) throw new Error('the table generation has no row')
  return begun
}

/**
 * Begins a generation if the condition holds for its row, which stays locked. A record that is being appended gets a number
 * before it, or waits for the row of its feed and comes after it.
 *
 * A server that recovers counts its timelines on from those in its archive: an earlier restore of the same backup has
 * used the one between, and numbers with it.
 */
function begin(
  db: Db,
  { database, timeline }: Partial<Identity> = {},
  isDue: RawBuilder<unknown>,
): Promise<Begun | undefined> {
  return inTransaction(db, async (tx) => {
    const { rows } = await sql<Omit<Begun, 'resellers'>>`
      update generation
         set number = number + greatest(1, case when database = ${database ?? null} then ${timeline ?? null}::integer - timeline end),
             began_at = clock_timestamp(), database = ${database ?? null}, timeline = ${timeline ?? null}
       where ${isDue}
      returning number, began_at as "beganAt"
    `.execute(tx)
    const [begun] = rows
    if (begun === undefined) return undefined
    await sql`update feed_head set last_seq = ${GENERATION_START} from generation`.execute(tx)
    // In the order in which records are appended.
    const resellers = sql`
      with locked as materialized (select id from reseller order by id for no key update)
      update reseller r set last_seq = ${GENERATION_START} from generation, locked where r.id = locked.id
    `
    // The operators have a feed too.
    return { ...begun, resellers: (await affected(resellers, tx)) - 1 }
  })
}
