import { shownEmail } from '../../platform/base/email-address.ts'
import { AppError } from '../../platform/base/errors.ts'
import type { AddressState } from '../../platform/base/kinds.ts'
import { type Db, sql, type Tx } from '../../platform/db/database.ts'
import { inTransaction, selectOne } from '../../platform/db/transaction.ts'
import {
  CONFIRMATION_LIMIT,
  hashOf,
  hashOfTarget,
  RESELLER_LIMIT,
  takeFromLimit,
} from '../formats/target-limits.ts'
import { type Sealer, targetPlace } from './sealer.ts'

/** An e-mail address of a reseller. */
export interface Address {
  readonly resellerId: number
  readonly hash: Buffer
}

/** How long a link confirms an address. */
export const LINK_HOURS = 24

/** Too many messages would ask for the confirmation of an address. */
export class TooManyConfirmationsError extends AppError {
  override readonly name = 'TooManyConfirmationsError'
  override readonly code = 'quota.confirmations'
  override readonly retryable = true
  readonly retryAfterMs: number

  constructor(message: string, retryAfterMs: number) {
    super(message)
    this.retryAfterMs = retryAfterMs
  }
}

/** No confirmation is due: the address is confirmed, or its owner has unsubscribed. */
export class NoConfirmationDueError extends AppError {
  override readonly name = 'NoConfirmationDueError'
  override readonly code = 'delivery.no_confirmation_due'
  override readonly retryable = false

  constructor(hasUnsubscribed: boolean) {
    super(
      hasUnsubscribed
        ? 'the owner of the address has unsubscribed; the link at the end of each earlier message lets the owner alone begin again'
        : 'the endpoint does not wait for the confirmation of an e-mail address',
    )
  }
}

/**
 * The state of an address that an endpoint is to send to. The owner of a new one is asked for the confirmation, and
 * asked again once the last link has ended. Throws TooManyConfirmationsError.
 */
export async function admitAddress(
  tx: Tx,
  address: Address & { readonly shown: string },
): Promise<AddressState> {
  const { resellerId, hash, shown } = address
  const { state, isAsked } = await selectOne(
    sql<{ state: AddressState; isAsked: boolean }>`
      insert into email_address as a (reseller_id, address_hash, shown) values (${resellerId}, ${hash}, ${shown})
      on conflict (reseller_id, address_hash) do update set shown = excluded.shown
      returning state,
                coalesce(a.requested_at > clock_timestamp() - make_interval(hours => ${LINK_HOURS}), false) as "isAsked"
    `,
    tx,
  )
  if (state === 'unconfirmed' && !isAsked) await requestConfirmation(tx, address)
  return state
}

/**
 * Has a worker send a message that asks for the confirmation of an address. It replaces the links of earlier ones. Throws
 * TooManyConfirmationsError: an address is asked a few times a day, by all resellers together.
 */
export async function requestConfirmation(tx: Tx, { resellerId, hash }: Address): Promise<void> {
  const ofAddress = await takeFromLimit(tx, hash, CONFIRMATION_LIMIT)
  if (ofAddress > 0) {
    const message = `an address is asked for its confirmation ${CONFIRMATION_LIMIT.atMost} times a day at most`
    throw new TooManyConfirmationsError(message, ofAddress)
  }
  const ofReseller = await takeFromLimit(tx, hashOf(`reseller ${resellerId}`), RESELLER_LIMIT)
  if (ofReseller > 0) {
    const message = `a reseller requests ${RESELLER_LIMIT.atMost} confirmations of addresses a day at most`
    throw new TooManyConfirmationsError(message, ofReseller)
  }
  await sql`
    update email_address
       set requested_at = clock_timestamp(), send_at = clock_timestamp(), attempts = 0, sent_at = null, failure = null
     where reseller_id = ${resellerId} and address_hash = ${hash}
  `.execute(tx)
}

/**
 * Gives the endpoints from before their targets had hashes those hashes. The addresses that they send to stay
 * confirmed. Safe to run at every start, by several processes at once.
 */
export async function adoptTargets(db: Db, sealer: Sealer): Promise<void> {
  await inTransaction(db, async (tx) => {
    const endpoints = await tx
      .selectFrom('webhook_endpoint')
      .select(['id', 'reseller_id as resellerId', 'format', 'target as sealed'])
      .where('target_hash', 'is', null)
      .orderBy('id')
      .forNoKeyUpdate()
      .$narrowType<{ format: 'webhook' | 'slack' | 'email' }>()
      .execute()
    if (endpoints.length === 0) return
    const opened = endpoints.map((endpoint) => {
      const target = sealer.open(endpoint.sealed, targetPlace(endpoint.id))
      return { ...endpoint, target, hash: hashOfTarget({ format: endpoint.format, target }) }
    })
    await sql`
      update webhook_endpoint e set target_hash = o.hash
        from unnest(${opened.map(({ id }) => id)}::uuid[], ${opened.map(({ hash }) => hash)}::bytea[]) o (id, hash)
       where e.id = o.id
    `.execute(tx)
    const mailed = opened.filter(({ format }) => format === 'email')
    await sql`
      insert into email_address (reseller_id, address_hash, shown, state)
      select *, 'confirmed' from unnest(${mailed.map(({ resellerId }) => resellerId)}::bigint[],
                                        ${mailed.map(({ hash }) => hash)}::bytea[],
                                        ${mailed.map(({ target }) => shownEmail(target))}::text[])
      on conflict (reseller_id, address_hash) do nothing
    `.execute(tx)
  })
}
