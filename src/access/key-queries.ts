import type { ResellerId } from '../base/reseller-id.ts'
import { type Db, sql } from '../db/database.ts'
import { affected } from '../db/transaction.ts'
import type { Scope } from '../http/caller.ts'

/** What a key opens. */
export interface KeyGrant {
  readonly id: number
  /** Null: an operator's. */
  readonly resellerId: ResellerId | null
  readonly scopes: readonly Scope[]
  /** How long after the question it ends, by the database's clock; null: never. */
  readonly endsInMs: number | null
}

interface GrantRow extends KeyGrant {
  readonly hash: Buffer
}

/**
 * The grants of keys that are neither revoked nor expired, by the database's clock, by their hashes; all others alike
 * are not there. Hashes come and go as base64. The index compares byte by byte; what its time tells is of a hash, from
 * which nobody comes back to a key.
 */
export async function findGrants(
  db: Db,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, KeyGrant>> {
  const { rows } = await sql<GrantRow>`
    select id, reseller_id as "resellerId", scopes, hash,
           (extract(epoch from expires_at - clock_timestamp()) * 1000)::float8 as "endsInMs"
      from api_key
     where hash = any(${hashes.map((hash) => Buffer.from(hash, 'base64'))}::bytea[])
       and revoked_at is null and (expires_at is null or expires_at > clock_timestamp())
  `.execute(db)
  return new Map(rows.map(({ hash, ...grant }) => [hash.toString('base64'), grant]))
}

/**
 * The reseller of a name while nobody has ever made a key; undefined from the first key on, which a revocation does
 * not undo.
 */
export async function findOpenReseller(db: Db, name: string): Promise<ResellerId | undefined> {
  const { rows } = await sql<{ id: ResellerId }>`
    select id from reseller where name = ${name} and not exists (select from api_key)
  `.execute(db)
  return rows[0]?.id
}

/** Whether anybody has ever made a key. */
export async function hasKeys(db: Db): Promise<boolean> {
  const { rows } = await sql<{ yes: boolean }>`select exists(select from api_key) as yes`.execute(
    db,
  )
  return rows[0]?.yes === true
}

/** Notes that a key was used, at most once a minute over all processes. Returns whether it was noted. */
export async function noteUse(db: Db, keyId: number): Promise<boolean> {
  const statement = sql`
    update api_key set last_used_at = clock_timestamp()
     where id = ${keyId}
       and (last_used_at is null or last_used_at < clock_timestamp() - interval '1 minute')
  `
  return (await affected(statement, db)) > 0
}
