import { randomBytes } from 'node:crypto'
import { exampleRecord } from '../../feeds/example-records.ts'
import type { EndpointFormat, WatchChangeKind } from '../../platform/base/kinds.ts'
import { sql, type Tx } from '../../platform/db/database.ts'
import { notify } from '../../platform/db/listener.ts'
import { takeTransactionLock } from '../../platform/db/session-lock.ts'
import { affected, databaseNow, inTransaction, selectOne } from '../../platform/db/transaction.ts'
import { SECRET_PREFIX } from '../formats/webhook.ts'
import {
  type EndpointOwner,
  endpointNotFound,
  requireEndpoint,
  type ShownEndpoint,
} from './endpoint-queries.ts'
import {
  assertValid,
  type Digest,
  EndpointDisabledError,
  type EndpointSettings,
  type Given,
  MAX_ENDPOINTS,
  MAX_PREVIOUS_SECRETS,
  MAX_TESTS_PER_HOUR,
  type NewEndpoint,
  nextDigestAt,
  shownTarget,
  type TargetRules,
  TooManyEndpointsError,
  TooManyRotationsError,
  TooManyTestsError,
  UnsignedFormatError,
} from './endpoint-settings.ts'
import { type Sealer, secretPlace, targetPlace } from './sealer.ts'

export interface EndpointDeps {
  readonly sealer: Sealer
  readonly targetRules: TargetRules
}

/** The secret is known only now: it is stored encrypted. Null for a format that is not signed. */
export type EndpointWithSecret = ShownEndpoint & { readonly secret: string | null }

const SECRET_BYTES = 32

/**
 * Creates an endpoint that receives the records after the present end of the feed. Throws TooManyEndpointsError,
 * NoEncryptionKeyError, and ProblemErrors of invalid fields.
 */
export async function createEndpoint(
  owner: EndpointOwner,
  { sealer, targetRules }: EndpointDeps,
  given: NewEndpoint,
): Promise<EndpointWithSecret> {
  const { format = 'webhook', target, enabled = true } = given
  assertValid({ ...given, format }, targetRules)
  const secret = format === 'webhook' ? newSecret() : null
  return inTransaction(owner.db, async (tx) => {
    await assertRoom(tx, owner.resellerId)
    const { id } = await selectOne(sql<{ id: string }>`select uuidv7() as id`, tx)
    await tx
      .insertInto('webhook_endpoint')
      .values({
        id,
        reseller_id: owner.resellerId,
        format,
        target: sealer.seal(target, targetPlace(id)),
        target_shown: shownTarget({ format, target }),
        secret: secret === null ? null : sealer.seal(secret, secretPlace(id)),
        cursor_seq: sql<number>`(select last_seq from reseller where id = ${owner.resellerId})`,
        disabled_at: enabled ? null : sql<Date>`clock_timestamp()`,
        disabled_reason: enabled ? null : 'paused',
        ...columnsOf(given),
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
  if (count >= MAX_ENDPOINTS) throw new TooManyEndpointsError()
}

/**
 * Changes the given settings. An endpoint that is enabled again, or has a new target, is tried at once and continues
 * where it stopped.
 */
export async function updateEndpoint(
  owner: EndpointOwner,
  { sealer, targetRules }: EndpointDeps,
  { id, given }: { readonly id: string; readonly given: Given<EndpointSettings> },
): Promise<ShownEndpoint> {
  return inTransaction(owner.db, async (tx) => {
    const { format, enabled: wasEnabled } = await lockEndpoint(tx, owner.resellerId, id)
    assertValid({ ...given, format }, targetRules)
    const { target, enabled = wasEnabled, digest } = given
    await tx
      .updateTable('webhook_endpoint')
      .set({
        ...columnsOf(given),
        ...(target === undefined
          ? {}
          : {
              target: sealer.seal(target, targetPlace(id)),
              target_shown: shownTarget({ format, target }),
            }),
        ...(target !== undefined || (enabled && !wasEnabled) ? NO_FAILURES : {}),
        ...(enabled === wasEnabled ? {} : disabledColumns(enabled)),
        updated_at: sql<Date>`clock_timestamp()`,
      })
      .where('id', '=', id)
      .execute()
    if (digest !== undefined) await makeDueBy(tx, id, digest)
    if (target !== undefined || (enabled && !wasEnabled)) await tryAtOnce(tx, id)
    return requireEndpoint({ ...owner, db: tx }, id)
  })
}

const NO_FAILURES = { failures: 0, failing_since: null, open_until: null, held_until: null }

function disabledColumns(enabled: boolean) {
  return enabled
    ? { disabled_at: null, disabled_reason: null }
    : { disabled_at: sql<Date>`clock_timestamp()`, disabled_reason: 'paused' as const }
}

/** Records that wait for the time of a digest wait for that of the new one. */
async function makeDueBy(tx: Tx, id: string, digest: Digest | null): Promise<void> {
  await tx
    .updateTable('delivery')
    .set({ due_at: nextDigestAt(digest, await databaseNow(tx)) })
    .where('endpoint_id', '=', id)
    .where('state', '=', 'pending')
    .where('attempts', '=', 0)
    .where('seq', 'is not', null)
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
    const { enabled } = await lockEndpoint(tx, owner.resellerId, id)
    if (!enabled) throw new EndpointDisabledError()
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
 * Gives a webhook a new secret. The present one signs too for 24 hours. Throws UnsignedFormatError, and
 * TooManyRotationsError because a request has one signature for each secret.
 */
export async function rotateSecret(
  owner: EndpointOwner,
  sealer: Sealer,
  id: string,
): Promise<EndpointWithSecret> {
  const secret = newSecret()
  return inTransaction(owner.db, async (tx) => {
    const { format } = await lockEndpoint(tx, owner.resellerId, id)
    if (format !== 'webhook') throw new UnsignedFormatError(format)
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
  if (count >= MAX_PREVIOUS_SECRETS && until !== null) throw new TooManyRotationsError(until)
}

/** Adds a test event to the endpoint's deliveries and returns its id. Throws as `addEvent` does. */
export function addTestEvent(owner: EndpointOwner, id: string): Promise<string> {
  const data = { endpointId: id, message: 'This is a test of the endpoint.' }
  return addEvent(owner, id, { type: 'webhook.test', data })
}

/** Adds an example of a record, without a number, and returns the id of its delivery. Throws as `addEvent` does. */
export function addExample(
  owner: EndpointOwner,
  id: string,
  kind: WatchChangeKind,
): Promise<string> {
  return addEvent(owner, id, { type: `example.${kind}`, data: exampleRecord(kind) })
}

/**
 * Adds an event that its reseller asked for. It is sent at once, also while the circuit breaker is open: then it is the
 * attempt that tests the endpoint. Throws EndpointDisabledError and TooManyTestsError.
 */
async function addEvent(
  { db, resellerId }: EndpointOwner,
  id: string,
  { type, data }: { readonly type: string; readonly data: object },
): Promise<string> {
  return inTransaction(db, async (tx) => {
    const { enabled } = await lockEndpoint(tx, resellerId, id)
    if (!enabled) throw new EndpointDisabledError()
    await assertTestable(tx, id)
    const added = await selectOne(
      sql<{ id: string }>`
        insert into delivery (endpoint_id, type, payload, recorded_at)
        values (${id}, ${type}, ${JSON.stringify(data)}, clock_timestamp())
        returning id, ${notify('watch', sql`${resellerId}::bigint`)}
      `,
      tx,
    )
    await sql`update webhook_endpoint set open_until = null where id = ${id}`.execute(tx)
    return added.id
  })
}

async function assertTestable(tx: Tx, id: string): Promise<void> {
  const { count, retryAfterMs } = await selectOne(
    sql<{ count: number; retryAfterMs: number | null }>`
      select count(*),
             extract(epoch from min(recorded_at) + interval '1 hour' - clock_timestamp())::float8 * 1000 as "retryAfterMs"
        from delivery
       where endpoint_id = ${id} and seq is null and type <> 'webhook.disabled'
         and recorded_at > clock_timestamp() - interval '1 hour'
    `,
    tx,
  )
  if (count >= MAX_TESTS_PER_HOUR) throw new TooManyTestsError(retryAfterMs ?? 0)
}

async function lockEndpoint(tx: Tx, resellerId: number, id: string) {
  const { rows } = await sql<{ format: EndpointFormat; enabled: boolean }>`
    select format, disabled_at is null as enabled
      from webhook_endpoint
     where id = ${id} and reseller_id = ${resellerId}
       for no key update
  `.execute(tx)
  const [found] = rows
  if (found === undefined) throw endpointNotFound()
  return found
}

function newSecret(): string {
  return `${SECRET_PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`
}

function columnsOf({ description, kinds, reasons, lists, rules, digest }: Given<EndpointSettings>) {
  const json = (value: object | null) => (value === null ? null : JSON.stringify(value))
  return {
    ...(description === undefined ? {} : { description }),
    ...(kinds === undefined ? {} : { kinds: kinds && [...kinds] }),
    ...(reasons === undefined ? {} : { reasons: reasons && [...reasons] }),
    ...(lists === undefined ? {} : { lists: lists && [...lists] }),
    ...(rules === undefined ? {} : { rules: json(rules) }),
    ...(digest === undefined ? {} : { digest: json(digest) }),
  }
}
