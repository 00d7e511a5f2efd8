import { randomBytes } from 'node:crypto'
import type { DisabledReason } from '../../platform/base/kinds.ts'
import { sql, type Tx } from '../../platform/db/database.ts'
import { takeTransactionLock } from '../../platform/db/session-lock.ts'
import { affected, databaseNow, inTransaction, selectOne } from '../../platform/db/transaction.ts'
import { ProblemError } from '../../platform/http/problems.ts'
import { SECRET_PREFIX } from '../formats/webhook.ts'
import { assertAllowed } from './addresses.ts'
import {
  type EndpointOwner,
  endpointNotFound,
  type LockedEndpoint,
  lockEndpoint,
  requireEndpoint,
} from './endpoint-queries.ts'
import {
  assertValid,
  EndpointDisabledError,
  type Given,
  MAX_ENDPOINTS,
  MAX_PREVIOUS_SECRETS,
  type NewEndpoint,
  nextSendAt,
  type Place,
  placeOf,
  type SendTimes,
  type TargetRules,
} from './endpoint-settings.ts'
import type { EndpointSettings, ShownEndpoint } from './endpoint-shapes.ts'
import { headersPlace, type Sealer, secretPlace, targetPlace } from './sealer.ts'

export interface EndpointDeps {
  readonly sealer: Sealer
  readonly targetRules: TargetRules
}

/** The secret is known only now: it is stored encrypted. Null for a format that is not signed. */
export type EndpointWithSecret = ShownEndpoint & { readonly secret: string | null }

const SECRET_BYTES = 32

/**
 * Creates an endpoint that receives the records after the present end of the feed. Throws AddressNotAllowedError,
 * NoEncryptionKeyError, and ProblemErrors of too many endpoints and of invalid fields.
 */
export async function createEndpoint(
  owner: EndpointOwner,
  { sealer, targetRules }: EndpointDeps,
  given: NewEndpoint,
): Promise<EndpointWithSecret> {
  const { format = 'webhook', target, enabled = true } = given
  assertValid({ ...given, format, template: given.template ?? null }, targetRules)
  const secret = format === 'webhook' ? newSecret() : null
  const place = placeOf({ format, target })
  return inTransaction(owner.db, async (tx) => {
    await assertRoom(tx, owner.resellerId)
    if (format === 'email') await assertAllowed(tx, owner.resellerId, place)
    const { id } = await selectOne(sql<{ id: string }>`select uuidv7() as id`, tx)
    await tx
      .insertInto('webhook_endpoint')
      .values({
        id,
        reseller_id: owner.resellerId,
        format,
        target: sealer.seal(target, targetPlace(id)),
        target_shown: place.shown,
        target_hash: place.hash,
        secret: secret === null ? null : sealer.seal(secret, secretPlace(id)),
        cursor_seq: sql<number>`(select last_seq from reseller where id = ${owner.resellerId})`,
        ...disabledColumns(enabled ? null : 'paused'),
        ...columnsOf(given),
        ...headerColumns(sealer, id, given.headers),
      })
      .execute()
    return { ...(await requireEndpoint({ ...owner, db: tx }, id)), secret }
  })
}

async function assertRoom(tx: Tx, resellerId: number): Promise<void> {
  await takeTransactionLock(tx, `endpoints of reseller ${resellerId}`)
  const { count } = await selectOne(
    sql<{
      count: number
    }>`select count(*) from webhook_endpoint where reseller_id = ${resellerId}`,
    tx,
  )
  if (count < MAX_ENDPOINTS) return
  const detail = `a reseller may have ${MAX_ENDPOINTS} endpoints: delete or change one of them`
  throw new ProblemError('quota.endpoints', { detail })
}

/** Whether the reseller wants the endpoint to receive. */
function isWanted(reason: DisabledReason | null): boolean {
  return reason === null || reason === 'not_allowed'
}

/**
 * Changes the given settings. An endpoint that is enabled again, or has a new target, is tried at once and continues
 * where it stopped. Throws AddressNotAllowedError.
 */
export async function updateEndpoint(
  owner: EndpointOwner,
  { sealer, targetRules }: EndpointDeps,
  { id, given }: { readonly id: string; readonly given: Given<EndpointSettings> },
): Promise<ShownEndpoint> {
  return inTransaction(owner.db, async (tx) => {
    const locked = await lockEndpoint(tx, owner.resellerId, id)
    const { format } = locked
    assertValid({ ...given, format }, targetRules)
    const { target, digest, quietHours } = given
    const place = target === undefined ? locked : placeOf({ format, target })
    const reason = await reasonAfter(tx, owner.resellerId, { locked, given, place })
    const isTried = target !== undefined || (reason === null && locked.reason !== null)
    await tx
      .updateTable('webhook_endpoint')
      .set({
        ...columnsOf(given),
        ...headerColumns(sealer, id, given.headers),
        ...(target === undefined
          ? {}
          : {
              target: sealer.seal(target, targetPlace(id)),
              target_shown: place.shown,
              target_hash: place.hash,
            }),
        ...(isTried ? NO_FAILURES : {}),
        ...(reason === locked.reason ? {} : disabledColumns(reason)),
        updated_at: sql<Date>`clock_timestamp()`,
      })
      .where('id', '=', id)
      .execute()
    const changed = await requireEndpoint({ ...owner, db: tx }, id)
    if (digest !== undefined || quietHours !== undefined) await makeDueBy(tx, id, changed)
    if (isTried) await tryAtOnce(tx, id)
    return requireEndpoint({ ...owner, db: tx }, id)
  })
}

interface Changing {
  readonly locked: LockedEndpoint
  readonly given: Given<EndpointSettings>
  readonly place: Place
}

/** Why the endpoint receives nothing after the change. Throws AddressNotAllowedError. */
async function reasonAfter(
  tx: Tx,
  resellerId: number,
  { locked, given: { target, enabled }, place }: Changing,
): Promise<DisabledReason | null> {
  const { format, reason } = locked
  if (target === undefined && enabled === undefined) return reason
  const isEnabled = enabled ?? isWanted(reason)
  const isMailed = format === 'email' && (isEnabled || target !== undefined)
  if (isMailed) await assertAllowed(tx, resellerId, place)
  if (isEnabled) return null
  return isWanted(reason) ? 'paused' : reason
}

const NO_FAILURES = { failures: 0, failing_since: null, open_until: null, held_until: null }

function disabledColumns(reason: DisabledReason | null) {
  return {
    disabled_at: reason === null ? null : sql<Date>`clock_timestamp()`,
    disabled_reason: reason,
  }
}

/** Records and warnings that wait for their time wait for the new one. */
async function makeDueBy(tx: Tx, id: string, times: SendTimes): Promise<void> {
  await tx
    .updateTable('delivery')
    .set({ due_at: nextSendAt(times, await databaseNow(tx)) })
    .where('endpoint_id', '=', id)
    .where('state', '=', 'pending')
    .where('attempts', '=', 0)
    .where(sql<boolean>`(seq is not null or due_at > clock_timestamp())`)
    .where('claim_id', 'is', null)
    .execute()
}

/** Deliveries that failed before are due, and get their whole time again, because the endpoint may have been mended. */
async function tryAtOnce(tx: Tx, id: string): Promise<number> {
  const { numUpdatedRows } = await tx
    .updateTable('delivery')
    .set({ due_at: sql<Date>`clock_timestamp()`, first_attempt_at: null })
    .where('endpoint_id', '=', id)
    .where('state', '=', 'pending')
    .where('attempts', '>', 0)
    .where('claim_id', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(numUpdatedRows)
}

/**
 * Tries the deliveries of an endpoint again that failed, without the pause that its failures or its receiver have set.
 * Whether it fails is decided by the next attempt. Returns how many there are. Throws EndpointDisabledError.
 */
export async function retryEndpoint(owner: EndpointOwner, id: string): Promise<number> {
  return inTransaction(owner.db, async (tx) => {
    const { reason } = await lockEndpoint(tx, owner.resellerId, id)
    if (reason !== null) throw new EndpointDisabledError(reason)
    const noPause = { open_until: null, held_until: null }
    await tx.updateTable('webhook_endpoint').set(noPause).where('id', '=', id).execute()
    return tryAtOnce(tx, id)
  })
}

/** Deletes an endpoint with its deliveries. */
export async function deleteEndpoint({ db, resellerId }: EndpointOwner, id: string): Promise<void> {
  const statement = sql`delete from webhook_endpoint where id = ${id} and reseller_id = ${resellerId}`
  if ((await affected(statement, db)) === 0) throw endpointNotFound()
}

/**
 * Gives a webhook a new secret. The present one signs too for 24 hours. Throws a ProblemError for a
 * format that is not signed, and for too many rotations, because a request has one signature for each secret.
 */
export async function rotateSecret(
  owner: EndpointOwner,
  sealer: Sealer,
  id: string,
): Promise<EndpointWithSecret> {
  const secret = newSecret()
  return inTransaction(owner.db, async (tx) => {
    const { format } = await lockEndpoint(tx, owner.resellerId, id)
    if (format !== 'webhook') throw new ProblemError('delivery.unsigned_format')
    await assertRotatable(tx, id)
    await sql`
      insert into previous_secret (endpoint_id, secret, signs_until)
      select id, secret, clock_timestamp() + interval '24 hours' from webhook_endpoint where id = ${id}
    `.execute(tx)
    await sql`
      update webhook_endpoint
         set secret = ${sealer.seal(secret, secretPlace(id))}, updated_at = clock_timestamp()
       where id = ${id}
    `.execute(tx)
    return { ...(await requireEndpoint({ ...owner, db: tx }, id)), secret }
  })
}

async function assertRotatable(tx: Tx, id: string): Promise<void> {
  const { count, until } = await selectOne(
    sql<{ count: number; until: Date | null }>`
      select count(*), min(signs_until) as until
        from previous_secret
       where endpoint_id = ${id} and signs_until > clock_timestamp()
    `,
    tx,
  )
  // A further rotation would end the 24 hours of a former secret early.
  if (count < MAX_PREVIOUS_SECRETS || until === null) return
  const detail = `${MAX_PREVIOUS_SECRETS} former secrets of the endpoint still sign: rotate again after ${until.toISOString()}`
  throw new ProblemError('quota.secret_rotations', { detail })
}

function newSecret(): string {
  return `${SECRET_PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`
}

function columnsOf(given: Given<EndpointSettings>) {
  const { description, kinds, reasons, lists, rules, digest, quietHours, template } = given
  const json = (value: object | null | undefined) => value && JSON.stringify(value)
  const columns = { description, kinds, reasons, lists, rules: json(rules), digest: json(digest) }
  return { ...columns, quiet_hours: json(quietHours), template: json(template) }
}

function headerColumns(
  sealer: Sealer,
  id: string,
  headers: EndpointSettings['headers'] | undefined,
) {
  if (headers === undefined) return {}
  const own = Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])
  const text = JSON.stringify(Object.fromEntries(own))
  return {
    headers: own.length === 0 ? null : sealer.seal(text, headersPlace(id)),
    header_names: own.map(([name = '']) => name),
  }
}
