import { randomInt } from 'node:crypto'
import { type Db, sql } from '../db/database.ts'
import { selectOne } from '../db/transaction.ts'
import type { Scope } from '../http/caller.ts'
import { ScopeNotGrantableError, UnknownKeyError } from './access-errors.ts'
import { hashOf, newKey, prefixOf } from './key-text.ts'

/** A key as lists show it: nothing that opens anything. */
export interface ApiKey {
  readonly id: number
  /** Null: an operator's. */
  readonly reseller: string | null
  readonly scopes: readonly Scope[]
  readonly prefix: string
  readonly createdAt: Date
  readonly expiresAt: Date | null
  readonly revokedAt: Date | null
  /** To the minute; null while it was never used. */
  readonly lastUsedAt: Date | null
}

export interface NewApiKey {
  /** Null: an operator's. */
  readonly resellerId: number | null
  /** All that a key of its kind may have where missing. */
  readonly scopes?: readonly Scope[] | undefined
  readonly expiresAt?: Date | undefined
}

/** What a key of a reseller, and one of an operator, may be used for. */
export const GRANTABLE = {
  reseller: ['read', 'watch'],
  operator: ['read', 'operate'],
} as const satisfies Record<string, readonly Scope[]>

const KEY_COLUMNS = sql`
  k.id, (select r.name from reseller r where r.id = k.reseller_id) as reseller, k.scopes, k.prefix,
  k.created_at as "createdAt", k.expires_at as "expiresAt", k.revoked_at as "revokedAt",
  k.last_used_at as "lastUsedAt"
`

/** Makes a key. Its text is returned this once, and kept nowhere. Throws ScopeNotGrantableError. */
export async function createApiKey(
  db: Db,
  { resellerId, scopes, expiresAt }: NewApiKey,
): Promise<{ readonly text: string; readonly key: ApiKey }> {
  const grantable: readonly Scope[] = GRANTABLE[resellerId === null ? 'operator' : 'reseller']
  const granted = [...new Set(scopes ?? grantable)]
  if (granted.length === 0 || !granted.every((scope) => grantable.includes(scope))) {
    throw new ScopeNotGrantableError(granted, grantable)
  }
  const text = newKey(randomInt)
  const key = await selectOne(
    sql<ApiKey>`
      insert into api_key as k (reseller_id, scopes, hash, prefix, expires_at)
      values (${resellerId}, ${granted}::text[], ${hashOf(text)}, ${prefixOf(text)}, ${expiresAt ?? null})
      returning ${KEY_COLUMNS}
    `,
    db,
  )
  return { text, key }
}

/** All keys, the oldest first, the revoked and the expired too; a part of them where a page is asked for. */
export async function listApiKeys(
  db: Db,
  { after = 0, limit }: { readonly after?: number | undefined; readonly limit?: number } = {},
): Promise<ApiKey[]> {
  const { rows } = await sql<ApiKey>`
    select ${KEY_COLUMNS} from api_key k where k.id > ${after} order by k.id limit ${limit ?? null}
  `.execute(db)
  return rows
}

/** Ends a key for good, within a second for every process. Again changes nothing. Throws UnknownKeyError. */
export async function revokeApiKey(db: Db, id: number): Promise<ApiKey> {
  const { rows } = await sql<ApiKey>`
    update api_key k set revoked_at = coalesce(revoked_at, clock_timestamp())
     where id = ${id}
    returning ${KEY_COLUMNS}
  `.execute(db)
  const [key] = rows
  if (key === undefined) throw new UnknownKeyError(id)
  return key
}
