import { AppError } from '../../platform/base/errors.ts'
import { type Db, sql, type Tx } from '../../platform/db/database.ts'
import { inTransaction } from '../../platform/db/transaction.ts'
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

/** What the two encrypted values of an endpoint are bound to. A previous secret keeps its place. */
export const targetPlace = (endpointId: string) => `${endpointId} target`
export const secretPlace = (endpointId: string) => `${endpointId} secret`

/**
 * Decrypts an endpoint for its deliveries: its address, and the secrets that sign, newest first. The deliveries of one claim
 * share the result. Throws SealError.
 */
export function createOpenTarget(sealer: Sealer): (endpoint: SealedEndpoint) => Target {
  const opened = new WeakMap<SealedEndpoint, Target>()
  const open = ({ id, target, secret, previousSecrets }: SealedEndpoint) => ({
    endpointId: id,
    address: sealer.open(target, targetPlace(id)),
    secrets: (secret === null ? [] : [secret, ...previousSecrets]).map((sealed) =>
      sealer.open(sealed, secretPlace(id)),
    ),
  })
  return (endpoint) => {
    const target = opened.get(endpoint) ?? open(endpoint)
    opened.set(endpoint, target)
    return target
  }
}

/** Throws WrongEncryptionKeyError if the keys of this process cannot open every endpoint. */
export async function assertEncryptionKey(db: Db, sealer: Sealer): Promise<void> {
  const { rows } = await sql<{ keyId: Buffer; endpoints: number }>`
    select substring(s.sealed from 1 for ${KEY_ID_BYTES}) as "keyId", count(distinct e.id)::int as endpoints
      from webhook_endpoint e
     cross join lateral (
       values (e.target), (e.secret) union all select p.secret from previous_secret p where p.endpoint_id = e.id) s (sealed)
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
 * Seals all endpoints with the present key, in one transaction. Returns how many had a value that was sealed with the
 * previous one. Afterwards ENCRYPTION_KEY_PREVIOUS is not needed.
 */
export function resealEndpoints(db: Db, sealer: Sealer): Promise<number> {
  return inTransaction(db, async (tx) => {
    const [present = Buffer.alloc(0)] = sealer.keyIds()
    const endpoints = await resealOwnValues(tx, sealer, present)
    const owners = await resealPreviousSecrets(tx, sealer, present)
    return new Set([...endpoints, ...owners]).size
  })
}

const isFormer = (column: string, present: Buffer) =>
  sql<boolean>`substring(${sql.ref(column)} from 1 for ${KEY_ID_BYTES}) <> ${present}`

/** Returns the ids of the endpoints whose address or secret was sealed with the previous key. */
async function resealOwnValues(tx: Tx, sealer: Sealer, present: Buffer): Promise<string[]> {
  const { rows } = await sql<Pick<SealedEndpoint, 'id' | 'target' | 'secret'>>`
    select id, target, secret
      from webhook_endpoint
     where ${isFormer('target', present)} or ${isFormer('secret', present)}
     order by id
       for no key update
  `.execute(tx)
  const ids = rows.map(({ id }) => id)
  const targets = rows.map(({ id, target }) => resealed(sealer, target, targetPlace(id)))
  const secrets = rows.map(({ id, secret }) =>
    secret === null ? null : resealed(sealer, secret, secretPlace(id)),
  )
  await sql`
    update webhook_endpoint e
       set target = r.target, secret = r.secret
      from unnest(${ids}::uuid[], ${targets}::bytea[], ${secrets}::bytea[]) as r (id, target, secret)
     where e.id = r.id
  `.execute(tx)
  return ids
}

/** Returns the ids of their endpoints. */
async function resealPreviousSecrets(tx: Tx, sealer: Sealer, present: Buffer): Promise<string[]> {
  const { rows } = await sql<{ id: number; endpointId: string; secret: Buffer }>`
    select id, endpoint_id as "endpointId", secret
      from previous_secret
     where ${isFormer('secret', present)}
     order by id
       for update
  `.execute(tx)
  const secrets = rows.map(({ endpointId, secret }) =>
    resealed(sealer, secret, secretPlace(endpointId)),
  )
  await sql`
    update previous_secret p
       set secret = r.secret
      from unnest(${rows.map(({ id }) => id)}::bigint[], ${secrets}::bytea[]) as r (id, secret)
     where p.id = r.id
  `.execute(tx)
  return rows.map(({ endpointId }) => endpointId)
}

function resealed(sealer: Sealer, sealed: Buffer, place: string): Buffer {
  return sealer.seal(sealer.open(sealed, place), place)
}
