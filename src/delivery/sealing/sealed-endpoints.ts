import { AppError } from '../../base/errors.ts'
import { type Db, sql } from '../../db/database.ts'
import { inTransaction } from '../../db/transaction.ts'
import type { SealedEndpoint } from '../dispatch/claim-deliveries.ts'
import type { Target } from '../formats/format.ts'
import { KEY_ID_BYTES, type Sealer } from './sealer.ts'

/** A process was started with another ENCRYPTION_KEY than the one that the endpoints are sealed with. */
export class WrongEncryptionKeyError extends AppError {
  override readonly name = 'WrongEncryptionKeyError'
  override readonly code = 'delivery.wrong_encryption_key'
  override readonly retryable = false

  constructor(endpoints: number) {
    super(
      `ENCRYPTION_KEY does not open ${endpoints} of the endpoints in the database: set the key with which they were ` +
        'created, or set that one as ENCRYPTION_KEY_PREVIOUS and run "bin/farewatch endpoints reseal"',
    )
  }
}

/** What the two encrypted values of an endpoint are bound to. A previous secret was the secret before. */
export const targetPlace = (endpointId: string) => `${endpointId} target`
export const secretPlace = (endpointId: string) => `${endpointId} secret`

/** Decrypts an endpoint for its delivery: its address, and the secrets that sign, newest first. Throws SealError. */
export function createOpenTarget(sealer: Sealer): (endpoint: SealedEndpoint) => Target {
  return ({ id, target, secret, previousSecret }) => ({
    endpointId: id,
    address: sealer.open(target, targetPlace(id)),
    secrets: [secret, previousSecret]
      .filter((sealed) => sealed !== null)
      .map((sealed) => sealer.open(sealed, secretPlace(id))),
  })
}

/** Throws WrongEncryptionKeyError if the keys of this process cannot open every endpoint. */
export async function assertEncryptionKey(db: Db, sealer: Sealer): Promise<void> {
  const { rows } = await sql<{ keyId: Buffer; endpoints: number }>`
    select substring(s.sealed from 1 for ${KEY_ID_BYTES}) as "keyId", count(distinct e.id)::int as endpoints
      from webhook_endpoint e
     cross join lateral (values (e.target), (e.secret), (e.previous_secret)) s (sealed)
     where s.sealed is not null
     group by 1
  `.execute(db)
  // Without endpoints no key is derived, which would delay the start.
  if (rows.length === 0) return
  const known = sealer.keyIds()
  const unopened = rows.filter(({ keyId }) => !known.some((id) => id.equals(keyId)))
  const endpoints = unopened.reduce((sum, row) => sum + row.endpoints, 0)
  if (endpoints > 0) throw new WrongEncryptionKeyError(endpoints)
}

/**
 * Seals all endpoints with the present key, in one transaction. Returns how many were sealed with the previous one.
 * Afterwards ENCRYPTION_KEY_PREVIOUS is not needed.
 */
export function resealEndpoints(db: Db, sealer: Sealer): Promise<number> {
  return inTransaction(db, async (tx) => {
    const [present = Buffer.alloc(0)] = sealer.keyIds()
    const { rows } = await sql<SealedEndpoint>`
      select id, target, secret, previous_secret as "previousSecret"
        from webhook_endpoint
       where substring(target from 1 for ${KEY_ID_BYTES}) <> ${present}
          or substring(secret from 1 for ${KEY_ID_BYTES}) <> ${present}
          or substring(previous_secret from 1 for ${KEY_ID_BYTES}) <> ${present}
       order by id
         for no key update
    `.execute(tx)
    const resealed = rows.map((row) => resealedColumns(sealer, row))
    await sql`
      update webhook_endpoint e
         set target = r.target, secret = r.secret, previous_secret = r.previous_secret
        from unnest(${resealed.map(({ id }) => id)}::uuid[],
                    ${resealed.map(({ target }) => target)}::bytea[],
                    ${resealed.map(({ secret }) => secret)}::bytea[],
                    ${resealed.map(({ previousSecret }) => previousSecret)}::bytea[])
             as r(id, target, secret, previous_secret)
       where e.id = r.id
    `.execute(tx)
    return rows.length
  })
}

function resealedColumns(sealer: Sealer, row: SealedEndpoint): SealedEndpoint {
  const moved = (sealed: Buffer | null, place: string) =>
    sealed === null ? null : sealer.seal(sealer.open(sealed, place), place)
  return {
    id: row.id,
    target: sealer.seal(sealer.open(row.target, targetPlace(row.id)), targetPlace(row.id)),
    secret: moved(row.secret, secretPlace(row.id)),
    previousSecret: moved(row.previousSecret, secretPlace(row.id)),
  }
}
