import { createHash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { AppError } from '../platform/base/errors.ts'
import type { Scope } from '../platform/base/kinds.ts'
import type { ResellerId } from '../platform/base/reseller-id.ts'
import { type Db, sql } from '../platform/db/database.ts'
import { notify } from '../platform/db/listener.ts'
import { affected, selectOne } from '../platform/db/transaction.ts'
import type { PagePosition } from '../platform/http/pages.ts'

/** A key as lists show it, without anything that authenticates. */
export interface ApiKey {
  readonly id: number
  /** The reseller's name; null for an operator's key. */
  readonly reseller: string | null
  readonly scopes: readonly Scope[]
  readonly prefix: string
  readonly createdAt: Date
  readonly expiresAt: Date | null
  readonly revokedAt: Date | null
  /** Accurate to the minute; null if the key was never used. */
  readonly lastUsedAt: Date | null
}

export interface NewApiKey {
  /** Null for an operator's key. */
  readonly resellerId: number | null
  /** Default: all scopes that a key of its kind may have. */
  readonly scopes?: readonly Scope[] | undefined
  readonly expiresAt?: Date | null | undefined
  /** The key that is rotated for it. */
  readonly replaces?: number | undefined
  /** Whether a sign-in of the page gives it. */
  readonly ofSignIn?: boolean
}

/** The scopes that a reseller's key and an operator's key may have. */
const GRANTABLE = {
  reseller: ['read', 'watch'],
  operator: ['read', 'operate'],
} as const satisfies Record<string, readonly Scope[]>

const KEY_COLUMNS = sql`
  k.id, (select r.name from reseller r where r.id = k.reseller_id) as reseller, k.scopes, k.prefix,
  k.created_at as "createdAt", k.expires_at as "expiresAt", k.revoked_at as "revokedAt",
  k.last_used_at as "lastUsedAt"
`

/** A key with its text. */
export interface CreatedKey {
  readonly text: string
  readonly key: ApiKey
}

/** Creates a key. Only its hash is stored, so this is the one time its text is known. Throws ScopeNotGrantableError. */
export async function createApiKey(
  db: Db,
  { resellerId, scopes, expiresAt, replaces, ofSignIn = false }: NewApiKey,
): Promise<CreatedKey> {
  const grantable: readonly Scope[] = GRANTABLE[resellerId === null ? 'operator' : 'reseller']
  const granted = [...new Set(scopes ?? grantable)]
  if (granted.length === 0 || !granted.every((scope) => grantable.includes(scope))) {
    throw new ScopeNotGrantableError(granted, grantable)
  }
  const text = newKey(randomInt)
  const key = await selectOne(
    sql<ApiKey>`
      insert into api_key as k (reseller_id, scopes, hash, prefix, expires_at, replaces, of_sign_in)
      values (${resellerId}, ${granted}::text[], ${hashOf(text)}, ${prefixOf(text)}, ${expiresAt ?? null},
              ${replaces ?? null}, ${ofSignIn})
      returning ${KEY_COLUMNS}
    `,
    db,
  )
  return { text, key }
}

/** Keys, revoked and expired ones included, the oldest first; or one page of them. */
export async function listApiKeys(
  db: Db,
  { after = 0, limit }: { readonly after?: number | undefined; readonly limit?: number } = {},
): Promise<ApiKey[]> {
  const { rows } = await sql<ApiKey>`
    select ${KEY_COLUMNS} from api_key k where k.id > ${after} order by k.id limit ${limit ?? null}
  `.execute(db)
  return rows
}

/** A page of the keys of a reseller, as `listApiKeys`. It begins after a prefix, because a reseller sees no ids. */
export async function listOwnKeys(
  db: Db,
  resellerId: ResellerId,
  { after = null, limit }: PagePosition<string | null>,
): Promise<ApiKey[]> {
  const { rows } = await sql<ApiKey>`
    select ${KEY_COLUMNS}
      from api_key k
     where k.reseller_id = ${resellerId}
       and (${after}::text is null
            or k.id > (select min(id) from api_key where reseller_id = ${resellerId} and prefix = ${after}))
     order by k.id
     limit ${limit}
  `.execute(db)
  return rows
}

/** The key of an id. Throws UnknownKeyError. */
export async function requireApiKey(db: Db, id: number): Promise<ApiKey> {
  const [key] = await listApiKeys(db, { after: id - 1, limit: 1 })
  if (key?.id !== id) throw new UnknownKeyError(id)
  return key
}

/**
 * Revokes a key in every process within a second. Revoking it a second time changes nothing. Throws
 * UnknownKeyError.
 */
export async function revokeApiKey(db: Db, id: number): Promise<ApiKey> {
  const { rows } = await sql<ApiKey & { readonly notified: unknown }>`
    update api_key k set revoked_at = coalesce(revoked_at, clock_timestamp())
     where id = ${id}
    returning ${KEY_COLUMNS}, ${notify('key', sql`k.id`)} as notified
  `.execute(db)
  const [row] = rows
  if (row === undefined) throw new UnknownKeyError(id)
  const { notified: _notified, ...key } = row
  return key
}

/** The reseller and the scopes of a key. */
export interface KeyGrant {
  readonly id: number
  /** Null for an operator's key. */
  readonly resellerId: ResellerId | null
  readonly resellerName: string | null
  readonly scopes: readonly Scope[]
  /** Milliseconds from the query until the key expires, by the database's clock; null if it never does. */
  readonly endsInMs: number | null
}

/**
 * The grants of valid keys by hash, in base64. Keys that are unknown, revoked or expired by the database's clock are
 * missing from the result. The index compares hashes byte by byte; its timing reveals nothing about a key, because a
 * hash cannot be inverted.
 */
export async function findGrants(
  db: Db,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, KeyGrant>> {
  const { rows } = await sql<KeyGrant & { readonly hash: Buffer }>`
    select id, reseller_id as "resellerId", scopes, hash,
           (select name from reseller where reseller.id = reseller_id) as "resellerName",
           (extract(epoch from expires_at - clock_timestamp()) * 1000)::float8 as "endsInMs"
      from api_key
     where hash = any(${hashes.map((hash) => Buffer.from(hash, 'base64'))}::bytea[])
       and revoked_at is null and (expires_at is null or expires_at > clock_timestamp())
  `.execute(db)
  return new Map(rows.map(({ hash, ...grant }) => [hash.toString('base64'), grant]))
}

/** Whether an operator ever had a key, or the reseller, even if it is revoked. */
export async function hadKey(db: Db, resellerId: number | null): Promise<boolean> {
  const { rows } = await sql<{ yes: boolean }>`
    select exists(select from api_key where reseller_id is not distinct from ${resellerId}) as yes
  `.execute(db)
  return rows[0]?.yes === true
}

/** Records the use of a key, at most once a minute across all processes. Returns whether it was recorded. */
export async function recordKeyUse(db: Db, keyId: number): Promise<boolean> {
  const statement = sql`
    update api_key set last_used_at = clock_timestamp()
     where id = ${keyId}
       and (last_used_at is null or last_used_at < clock_timestamp() - interval '1 minute')
  `
  return (await affected(statement, db)) > 0
}

const START = 'fwk_'
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** 62^30: 178 bits, too many to guess. */
const SECRET_CHARS = 30
/** 62^6 is above 2^32. */
const CHECKSUM_CHARS = 6
const KEY = /^fwk_([0-9A-Za-z]{30})([0-9A-Za-z]{6})$/
/** Enough to recognise a key in a list. The other 28 characters cannot be guessed. */
const PREFIX_CHARS = START.length + 8

/**
 * Makes a key: `fwk_`, thirty random letters and digits, and their CRC-32 in six more characters. The start lets a
 * scanner find a published key. The checksum shows a typing error without a query.
 *
 * `randomBelow` returns a uniform whole number from 0 up to, but not including, its argument, of cryptographic quality.
 */
export function newKey(randomBelow: (max: number) => number): string {
  const secret = Array.from({ length: SECRET_CHARS }, () => ALPHABET[randomBelow(ALPHABET.length)])
  const text = secret.join('')
  return `${START}${text}${checksumOf(text)}`
}

/** Whether a text has the form and the checksum of a key. */
export function isWellFormedKey(text: string): boolean {
  const [, secret, checksum] = KEY.exec(text) ?? []
  return secret !== undefined && checksumOf(secret) === checksum
}

/**
 * The stored hash of a key. One round of SHA-256 without a salt is enough, because a key is random. Salts and many
 * rounds protect passwords, which people choose, and would cost time on every request.
 */
export function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

/** The start of a key, as lists show it. */
export function prefixOf(key: string): string {
  return key.slice(0, PREFIX_CHARS)
}

function checksumOf(secret: string): string {
  let rest = crc32(secret)
  let text = ''
  for (let i = 0; i < CHECKSUM_CHARS; i += 1) {
    text = `${ALPHABET[rest % ALPHABET.length]}${text}`
    rest = Math.floor(rest / ALPHABET.length)
  }
  return text
}

export class UnknownKeyError extends AppError {
  override readonly name = 'UnknownKeyError'
  override readonly code = 'not_found'
  readonly missing = 'key'

  constructor(id: number) {
    super(`there is no key ${id}: "bin/farewatch keys list" shows them`)
  }
}

/** A reseller's key may have the scopes read and watch, an operator's key read and operate. */
class ScopeNotGrantableError extends AppError {
  override readonly name = 'ScopeNotGrantableError'
  override readonly code = 'access.scope_not_grantable'

  constructor(scopes: readonly Scope[], grantable: readonly Scope[]) {
    super(`a key of this kind has some of ${grantable.join(', ')}, not ${scopes.join(', ')}`)
  }
}
