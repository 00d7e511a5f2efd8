import { createHmac, createSecretKey, type KeyObject, scryptSync } from 'node:crypto'
import { memoized } from '../../platform/base/cache.ts'
import { AppError } from '../../platform/base/errors.ts'
import { seal, unseal } from '../../platform/base/sealing.ts'
import { type Db, sql, type Tx } from '../../platform/db/database.ts'
import { inTransaction } from '../../platform/db/transaction.ts'
import type { Target, Template } from '../formats/format.ts'

/** A sealed value belongs to another key, another place, or was changed. */
export class SealError extends AppError {
  override readonly name = 'SealError'
  override readonly code = 'delivery.sealed_with_another_key'
}

/** An endpoint needs ENCRYPTION_KEY, and the operator has not set it. */
export class NoEncryptionKeyError extends AppError {
  override readonly name = 'NoEncryptionKeyError'
  override readonly code = 'delivery.no_encryption_key'

  constructor() {
    super('secrets cannot be stored: the operator of this farewatch must set ENCRYPTION_KEY')
  }
}

/** Encrypts the secrets of endpoints with AES-256-GCM. */
export interface Sealer {
  /**
   * Encrypts with the present key. Throws NoEncryptionKeyError.
   * @param place the row and the column. A value that is copied to another place cannot be opened there.
   */
  seal(text: string, place: string): Buffer
  /** Decrypts with the present or the previous key. Throws SealError. */
  open(sealed: Buffer, place: string): string
  /** The ids of the keys that can open values, the present one first. */
  keyIds(): Buffer[]
}

interface DerivedKey {
  readonly id: Buffer
  /** Node.js 24 takes four times as long to decrypt with a Buffer. */
  readonly key: KeyObject
}

/** A sealed value begins with the id of its key, so a wrong key is recognized without a trial. */
const KEY_ID_BYTES = 8
const SALT = 'farewatch endpoints 1'

/**
 * Creates a sealer. Keys are derived at the first use, because that takes 50 ms.
 * @param previous opens what was sealed before `key` replaced it.
 */
export function createSealer(key: string | undefined, previous?: string): Sealer {
  let derived: DerivedKey[] | undefined
  const keys = () => {
    derived ??= [key, previous].filter((text) => text !== undefined).map(derive)
    return derived
  }
  const presentKey = () => {
    const [present] = keys()
    if (key === undefined || present === undefined) throw new NoEncryptionKeyError()
    return present
  }
  return {
    seal(text, place) {
      const { id, key } = presentKey()
      return Buffer.concat([id, seal(key, text, place)])
    },
    open(sealed, place) {
      const id = sealed.subarray(0, KEY_ID_BYTES)
      const found = keys().find((known) => known.id.equals(id))
      if (found === undefined) throw new SealError('sealed with a key that is not set')
      try {
        return unseal(found.key, sealed.subarray(KEY_ID_BYTES), place).toString()
      } catch {
        // The error of node:crypto says nothing more.
        throw new SealError('a sealed value was changed or moved to another row')
      }
    },
    keyIds: () => keys().map(({ id }) => id),
  }
}

/** scrypt makes guesses expensive, in case the operator has chosen words instead of random text. */
function derive(text: string): DerivedKey {
  const key = createSecretKey(scryptSync(text, SALT, 32))
  return { key, id: createHmac('sha256', key).update('id').digest().subarray(0, KEY_ID_BYTES) }
}

/** An endpoint with its encrypted secrets. */
export interface SealedEndpoint {
  readonly id: string
  readonly target: Buffer
  readonly secret: Buffer | null
  readonly headers: Buffer | null
  readonly template: Template | null
  /** Those that still sign, newest first. */
  readonly previousSecrets: readonly Buffer[]
}

/** Its columns, of `webhook_endpoint e`. */
export const SEALED_ENDPOINT = sql`
  e.id, e.target, e.secret, e.headers, e.template,
  array(select p.secret from previous_secret p where p.endpoint_id = e.id and p.signs_until > now()
         order by p.signs_until desc) as "previousSecrets"
`

/** A process was started with another ENCRYPTION_KEY than the one that the endpoints are sealed with. */
export class WrongEncryptionKeyError extends AppError {
  override readonly name = 'WrongEncryptionKeyError'
  override readonly code = 'delivery.wrong_encryption_key'

  constructor(endpoints: number) {
    super(
      `ENCRYPTION_KEY does not open ${endpoints} of the endpoints in the database: set the key with which they were ` +
        'created, or set that one as ENCRYPTION_KEY_PREVIOUS and run "bin/farewatch endpoints reseal"',
    )
  }
}

/** What the encrypted values of an endpoint are bound to. A previous secret keeps its place. */
export const targetPlace = (endpointId: string) => `${endpointId} target`
export const secretPlace = (endpointId: string) => `${endpointId} secret`
export const headersPlace = (endpointId: string) => `${endpointId} headers`

/**
 * Decrypts an endpoint for its deliveries: its address, and the secrets that sign, newest first. The deliveries of
 * one claim share the result. Throws SealError.
 */
export function createOpenTarget(sealer: Sealer): (endpoint: SealedEndpoint) => Target {
  return memoized(({ id, target, secret, previousSecrets, headers, template }) => ({
    endpointId: id,
    address: sealer.open(target, targetPlace(id)),
    secrets: (secret === null ? [] : [secret, ...previousSecrets]).map((sealed) =>
      sealer.open(sealed, secretPlace(id)),
    ),
    headers: headers === null ? {} : JSON.parse(sealer.open(headers, headersPlace(id))),
    template,
  }))
}

/** Throws WrongEncryptionKeyError if the keys of this process cannot open every endpoint. */
export async function assertEncryptionKey(db: Db, sealer: Sealer): Promise<void> {
  const { rows } = await sql<{ keyId: Buffer; endpoints: number }>`
    select substring(s.sealed from 1 for ${KEY_ID_BYTES}) as "keyId", count(distinct e.id)::int as endpoints
      from webhook_endpoint e
     cross join lateral (
       values (e.target), (e.secret), (e.headers) union all select p.secret from previous_secret p where p.endpoint_id = e.id) s (sealed)
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

/** Returns the ids of the endpoints with a value of their own that was sealed with the previous key. */
async function resealOwnValues(tx: Tx, sealer: Sealer, present: Buffer): Promise<string[]> {
  const { rows } = await sql<Pick<SealedEndpoint, 'id' | 'target' | 'secret' | 'headers'>>`
    select id, target, secret, headers
      from webhook_endpoint
     where ${isFormer('target', present)} or ${isFormer('secret', present)} or ${isFormer('headers', present)}
     order by id
       for no key update
  `.execute(tx)
  const ids = rows.map(({ id }) => id)
  const again = (sealed: Buffer | null, place: string) =>
    sealed === null ? null : resealed(sealer, sealed, place)
  const targets = rows.map(({ id, target }) => again(target, targetPlace(id)))
  const secrets = rows.map(({ id, secret }) => again(secret, secretPlace(id)))
  const headers = rows.map((row) => again(row.headers, headersPlace(row.id)))
  await sql`
    update webhook_endpoint e
       set target = r.target, secret = r.secret, headers = r.headers
      from unnest(${ids}::uuid[], ${targets}::bytea[], ${secrets}::bytea[], ${headers}::bytea[])
             as r (id, target, secret, headers)
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
