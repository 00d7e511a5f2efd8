import { randomBytes } from 'node:crypto'
import { AppError } from '../platform/base/errors.ts'
import type { Scope } from '../platform/base/kinds.ts'
import { type Db, sql } from '../platform/db/database.ts'
import { notify } from '../platform/db/listener.ts'
import { inTransaction, selectOne } from '../platform/db/transaction.ts'
import { createApiKey, hashOf } from './api-keys.ts'

/** Whose keys a sign-in gives: an operator's, a reseller's, or one of each. */
interface SignInFor {
  readonly operator: boolean
  readonly resellerId: number | null
  /** The id of the key that made the code: what it gives may no more, and ends no later. Null of an operator at the command line. */
  readonly madeBy?: number | null
}

interface FoundCode {
  readonly operator: boolean
  readonly resellerId: number | null
  /** Null: all that the owner may have. */
  readonly scopes: readonly Scope[] | null
  readonly expiresAt: Date
}

/** A code with its end. */
interface SignInCode {
  readonly code: string
  readonly expiresAt: Date
}

/** A key as a page receives it. */
export interface GivenKey {
  readonly kind: 'operator' | 'reseller'
  readonly key: string
  readonly expiresAt: Date
}

export const CODE_MINUTES = 10
/** A page that was signed in by a code asks for another after this time. */
const KEY_DAYS = 30
/** 144 bits: too many to guess in ten minutes. */
const CODE_BYTES = 18

/** Makes a code that can be exchanged for keys once. */
export async function createSignInCode(
  db: Db,
  { operator, resellerId, madeBy = null }: SignInFor,
): Promise<SignInCode> {
  const code = randomBytes(CODE_BYTES).toString('base64url')
  const { expiresAt } = await selectOne(
    sql<{ expiresAt: Date }>`
      with expired as (delete from sign_in_code where expires_at <= clock_timestamp())
      insert into sign_in_code (hash, operator, reseller_id, made_by, expires_at)
      values (${hashOf(code)}, ${operator}, ${resellerId}, ${madeBy}::bigint,
              clock_timestamp() + make_interval(mins => ${CODE_MINUTES}))
      returning expires_at as "expiresAt"
    `,
    db,
  )
  return { code, expiresAt }
}

/**
 * Gives new keys for a code, in one transaction with its end: of two exchanges at the same time one succeeds. Each
 * page has keys of its own, so that one of them can be revoked. Throws UnknownCodeError.
 */
export async function exchangeCode(db: Db, code: string): Promise<GivenKey[]> {
  return inTransaction(db, async (tx) => {
    const { rows } = await sql<FoundCode>`
      with used as (
        delete from sign_in_code where hash = ${hashOf(code)} and expires_at > clock_timestamp() returning *
      )
      -- An operator that acts for a reseller watches where it operates.
      select u.operator, u.reseller_id as "resellerId", array_replace(k.scopes, 'operate', 'watch') as scopes,
             least(clock_timestamp() + make_interval(days => ${KEY_DAYS}), k.expires_at) as "expiresAt"
        from used u
        left join api_key k on k.id = u.made_by and k.revoked_at is null
       where u.made_by is null or k.expires_at > clock_timestamp() or k.id is not null and k.expires_at is null
    `.execute(tx)
    const [found] = rows
    if (found === undefined) throw new UnknownCodeError()
    const { operator, resellerId, scopes, expiresAt } = found
    const given: GivenKey[] = []
    if (operator) {
      const { text } = await createApiKey(tx, { resellerId: null, expiresAt, ofSignIn: true })
      given.push({ kind: 'operator', key: text, expiresAt })
    }
    if (resellerId !== null) {
      const { text } = await createApiKey(tx, {
        resellerId,
        scopes: scopes ?? undefined,
        expiresAt,
        ofSignIn: true,
      })
      given.push({ kind: 'reseller', key: text, expiresAt })
    }
    return given
  })
}

/** Revokes a key in every process within a second. Returns false if no sign-in gave it: then it stays. */
export async function signOut(db: Db, keyId: number): Promise<boolean> {
  const { rows } = await sql`
    update api_key set revoked_at = coalesce(revoked_at, clock_timestamp())
     where id = ${keyId} and of_sign_in
    returning ${notify('key', sql`id`)}
  `.execute(db)
  return rows.length > 0
}

/** The address that signs a page in. The part behind # never reaches a server or its log. */
export function signInLink(publicUrl: string, code: string): string {
  return `${publicUrl}/#/sign-in/${code}`
}

class UnknownCodeError extends AppError {
  override readonly name = 'UnknownCodeError'
  override readonly code = 'access.code_gone'

  constructor() {
    super(
      `the code was used, is older than ${CODE_MINUTES} minutes or never existed: "bin/farewatch keys link" prints another link`,
    )
  }
}
