import type { GenerationReason } from '../base/kinds.ts'
import { type Db, sql, type Tx } from './database.ts'
import { isDatabaseUnavailable } from './database-health.ts'
import { takeTransactionLock } from './session-lock.ts'
import { affected, inTransaction, selectOne } from './transaction.ts'

/** By how many numbers each feed goes on above its last one when a generation begins. */
export const GENERATION_STEP = 1_000_000

const LOCK = 'generation'

/** What differs between a database and its copies. */
interface Identity {
  /** The system identifier of the server and the oid of the database. */
  readonly database: string
  readonly timeline: number
}

export interface Generation {
  readonly number: number
  readonly reason: GenerationReason
  readonly beganAt: Date
  /** The identity of the database when the generation began. Null if it could not be read. */
  readonly database: string | null
  readonly timeline: number | null
}

/** The present generation of the feeds. */
export function readGeneration(db: Db): Promise<Generation> {
  return db
    .selectFrom('generation')
    .select(['number', 'reason', 'began_at as beganAt', 'database', 'timeline'])
    .orderBy('number', 'desc')
    .limit(1)
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
 * Begins a generation if the database is not the one of the last start: another server, another database, or another
 * timeline. Of processes that start together, one begins it. Returns the generation that this call began.
 */
export async function beginIfRestored(db: Db): Promise<Generation | undefined> {
  const identity = await readIdentity(db)
  if (identity === undefined || isOf(await readGeneration(db), identity)) return undefined
  return inTransaction(db, async (tx) => {
    await takeTransactionLock(tx, LOCK)
    const last = await readGeneration(tx)
    if (isOf(last, identity)) return undefined
    if (last.database !== null) return begin(tx, 'identity', { last, identity })
    await tx.updateTable('generation').set(identity).where('number', '=', last.number).execute()
    return undefined
  })
}

function isOf({ database, timeline }: Generation, identity: Identity): boolean {
  return database === identity.database && timeline === identity.timeline
}

/** Begins a generation in any case. Returns it with the number of feeds of resellers. */
export async function beginGeneration(
  db: Db,
): Promise<Generation & { readonly resellers: number }> {
  const identity = await readIdentity(db)
  return inTransaction(db, async (tx) => {
    await takeTransactionLock(tx, LOCK)
    return begin(tx, 'command', { last: await readGeneration(tx), identity })
  })
}

interface BeginArgs {
  readonly last: Generation
  readonly identity: Identity | undefined
}

/**
 * Locks the heads of all feeds, in the order in which records are appended, writes the gap of each, and lets the next
 * number come after it. A record that is being appended is before the gap, or waits and comes after it.
 */
async function begin(
  tx: Tx,
  reason: Exclude<GenerationReason, 'first'>,
  { last, identity }: BeginArgs,
): Promise<Generation & { readonly resellers: number }> {
  const step = stepOf(last, identity)
  const number = last.number + step
  await tx
    .insertInto('generation')
    .values({ number, reason, ...identity })
    .execute()
  await sql`
    insert into feed_gap (feed, reseller_id, generation, after_seq, next_seq)
    select feed, reseller_id, ${number}, greatest(last_seq, numbers_from - 1),
           greatest(last_seq, numbers_from) + ${step * GENERATION_STEP}
      from (select *
              from (select feed, null::bigint as reseller_id, last_seq, numbers_from
                      from feed_head order by feed for no key update) shared
            union all
            select *
              from (select 'watch', id, last_seq, numbers_from from reseller order by id for no key update) own) head
  `.execute(tx)
  await sql`
    update feed_head h set numbers_from = g.next_seq
      from feed_gap g
     where g.generation = ${number} and g.feed = h.feed
  `.execute(tx)
  return { ...(await readGeneration(tx)), resellers: await skipGaps(tx, number) }
}

/**
 * A server that recovers counts its timelines on from those in its archive: an earlier restore of the same backup has
 * used the one between, and numbers with it.
 */
function stepOf(last: Generation, identity: Identity | undefined): number {
  if (last.timeline === null || last.database !== identity?.database) return 1
  return Math.max(1, identity.timeline - last.timeline)
}

/** Lets the feeds of resellers go on after their gaps before a generation. Returns how many. */
function skipGaps(tx: Tx, generation: number): Promise<number> {
  return affected(
    sql`
      update reseller r set numbers_from = g.next_seq
        from feed_gap g
       where g.generation = ${generation} and g.reseller_id = r.id and r.numbers_from < g.next_seq
    `,
    tx,
  )
}

/**
 * Lets the feed of a new reseller begin in the present generation: a restore may have lost a reseller of the same name,
 * whose readers have its numbers. Call it in the transaction that has inserted the reseller.
 */
export async function joinGeneration(tx: Tx, resellerId: number): Promise<void> {
  // A generation that begins meanwhile either sees the reseller, or is seen here.
  await takeTransactionLock(tx, LOCK)
  const { number } = await readGeneration(tx)
  if (number === 1) return
  await sql`
    insert into feed_gap (feed, reseller_id, generation, after_seq, next_seq)
    values ('watch', ${resellerId}, ${number}, 0, ${(number - 1) * GENERATION_STEP})
  `.execute(tx)
  await skipGaps(tx, number)
}
