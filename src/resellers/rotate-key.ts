import { AppError } from '../platform/base/errors.ts'
import type { Scope } from '../platform/base/kinds.ts'
import type { ResellerId } from '../platform/base/reseller-id.ts'
import { type Db, sql, type Tx } from '../platform/db/database.ts'
import { notify } from '../platform/db/listener.ts'
import { takeTransactionLock } from '../platform/db/session-lock.ts'
import { inTransaction, selectOne } from '../platform/db/transaction.ts'
import { ProblemError } from '../platform/http/problems.ts'
import { type CreatedKey, createApiKey } from './api-keys.ts'

/** How many keys a reseller may rotate in a day. */
const MAX_ROTATIONS = 20

interface RotateArgs {
  readonly resellerId: ResellerId
  readonly keyId: number
  /** For how long the rotated key stays valid, unless it ends sooner. */
  readonly overlapSeconds: number
}

/**
 * Creates a key with the scopes and the end of a reseller's valid key, which ends after the overlap. A client that has
 * lost the response may rotate the key again before that. Throws TooManyKeyRotationsError, and a ProblemError if the
 * key is not valid any more.
 */
export async function rotateApiKey(
  db: Db,
  { resellerId, keyId, overlapSeconds }: RotateArgs,
): Promise<CreatedKey & { readonly previousEndsAt: Date }> {
  return inTransaction(db, async (tx) => {
    await takeTransactionLock(tx, `keys of reseller ${resellerId}`)
    if ((await countRotations(tx, resellerId)) >= MAX_ROTATIONS)
      throw new TooManyKeyRotationsError()
    const { rows } = await sql<{ previousEndsAt: Date; scopes: Scope[]; expiresAt: Date | null }>`
      update api_key k
         set expires_at = least(expires_at, clock_timestamp() + make_interval(secs => ${overlapSeconds}))
       where id = ${keyId} and reseller_id = ${resellerId}
         and revoked_at is null and (expires_at is null or expires_at > clock_timestamp())
      returning new.expires_at as "previousEndsAt", scopes, ${notify('key', sql`k.id`)},
                -- A key that was rotated before ends with its overlap, and the one for it has the original end.
                case when exists (select from api_key r where r.replaces = ${keyId})
                     then (select r.expires_at from api_key r where r.replaces = ${keyId} order by r.id limit 1)
                     else old.expires_at end as "expiresAt"
    `.execute(tx)
    const [rotated] = rows
    if (rotated === undefined) throw new ProblemError('access.unknown_key')
    const { previousEndsAt, scopes, expiresAt } = rotated
    const created = await createApiKey(tx, { resellerId, scopes, expiresAt, replaces: keyId })
    return { ...created, previousEndsAt }
  })
}

async function countRotations(tx: Tx, resellerId: ResellerId): Promise<number> {
  const { count } = await selectOne(
    sql<{ count: number }>`
      select count(*) from api_key
       where reseller_id = ${resellerId} and replaces is not null
         and created_at > clock_timestamp() - interval '1 day'
    `,
    tx,
  )
  return count
}

/** Keys that are rotated without end would fill the table. */
class TooManyKeyRotationsError extends AppError {
  override readonly name = 'TooManyKeyRotationsError'
  override readonly code = 'quota.key_rotations'

  constructor() {
    super(
      `${MAX_ROTATIONS} keys were rotated in the last 24 hours: try again tomorrow, or ask the operator for a key`,
    )
  }
}
