import { createApiKey, revokeApiKey } from '../../src/access/api-keys.ts'
import { newKey } from '../../src/access/key-text.ts'
import type { Db } from '../../src/db/database.ts'
import type { Scope } from '../../src/http/caller.ts'
import { routes, sync } from '../route-sync/sync-fixtures.ts'
import { cells, resellerWith } from '../watch/watch-fixtures.ts'

/** A database in which the examples of all operations have something to find, and keys to ask with. */
export interface Seed {
  /** The reseller whose things the examples name. */
  readonly alpha: number
  /** Another one, that has its own. */
  readonly beta: number
  readonly keys: {
    readonly alpha: string
    readonly beta: string
    readonly operator: string
  }
}

export async function seedApi(db: Db): Promise<Seed> {
  await sync(db, routes('PMI-MAD', 'MAD-PMI', 'PMI-BCN'))
  await sync(db, routes('PMI-MAD'), { list: 'with-availability' })
  const alpha = await resellerWith(db, [cells({ reference: 'A-1' })], 'alpha')
  const beta = await resellerWith(db, [cells({ reference: 'B-1' })], 'beta')
  return {
    alpha,
    beta,
    keys: {
      alpha: (await createApiKey(db, { resellerId: alpha })).text,
      beta: (await createApiKey(db, { resellerId: beta })).text,
      operator: (await createApiKey(db, { resellerId: null })).text,
    },
  }
}

/** A key of each kind that opens nothing. */
export async function wrongKeys(db: Db, resellerId: number): Promise<Record<string, string>> {
  const expired = await createApiKey(db, { resellerId, expiresAt: new Date(Date.now() - 1_000) })
  const revoked = await createApiKey(db, { resellerId })
  await revokeApiKey(db, revoked.key.id)
  return {
    // Of the right form, and nobody's.
    forged: newKey((max) => max - 1),
    expired: expired.text,
    revoked: revoked.text,
  }
}

export async function scopedKey(
  db: Db,
  resellerId: number | null,
  scopes: readonly Scope[],
): Promise<string> {
  return (await createApiKey(db, { resellerId, scopes })).text
}
