import { AppError } from '../../platform/base/errors.ts'
import type { AddressState, LinkPurpose } from '../../platform/base/kinds.ts'
import { type Db, type RawBuilder, sql, type Tx } from '../../platform/db/database.ts'
import { notify } from '../../platform/db/listener.ts'
import { inTransaction } from '../../platform/db/transaction.ts'
import type { Target } from '../formats/format.ts'
import { hashOf } from '../formats/target-limits.ts'
import { type Address, LINK_HOURS, requestConfirmation } from './addresses.ts'
import { disableEndpoints } from './disable-endpoints.ts'
import type { Sealer } from './sealer.ts'

/** The address that a link is about, as its owner may see it. */
export interface LinkedAddress extends Address {
  /** The name of the reseller. */
  readonly reseller: string
  readonly shown: string
  readonly state: AddressState
}

class NoSuchLinkError extends AppError {
  override readonly name = 'NoSuchLinkError'
  override readonly code = 'delivery.link_gone'
  override readonly retryable = false

  constructor() {
    super(
      `the link was used, is older than ${LINK_HOURS} hours, was replaced by that of a newer message, or never existed`,
    )
  }
}

/** Bytes of a token: too many to guess. */
export const TOKEN_BYTES = 18

/** The address of the page of a link. It comes from the configuration and never from a request. */
export function linkTo(publicUrl: string, purpose: LinkPurpose, token: string): string {
  return `${publicUrl}/api/v1/email/${purpose}/${token}`
}

/**
 * Creates the links with which the owner of an address ends its messages. They are the same in all messages of an
 * endpoint, work for as long as the address is known, and follow from the present ENCRYPTION_KEY. Undefined if no link can
 * be made.
 */
export function createUnsubscribeLinks(
  db: Db,
  { sealer, publicUrl }: { readonly sealer: Sealer; readonly publicUrl: string | undefined },
) {
  return async ({ endpointId, address }: Target): Promise<string | undefined> => {
    if (publicUrl === undefined) return undefined
    const bytes = sealer.derive(`unsubscribe ${endpointId} ${address.toLowerCase()}`)
    const token = bytes.subarray(0, TOKEN_BYTES).toString('base64url')
    await sql`
      insert into email_link (token_hash, purpose, reseller_id, address_hash)
      select ${hashOf(token)}, 'unsubscribe', a.reseller_id, a.address_hash
        from webhook_endpoint e
        join email_address a on a.reseller_id = e.reseller_id and a.address_hash = e.target_hash
       where e.id = ${endpointId}
      on conflict (token_hash) do nothing
    `.execute(db)
    return linkTo(publicUrl, 'unsubscribe', token)
  }
}

/** The address of a link. Changes nothing: scanners of mail open each link. Throws NoSuchLinkError. */
export async function findLinked(
  db: Db,
  purpose: LinkPurpose,
  token: string,
): Promise<LinkedAddress> {
  const { rows } = await sql<LinkedAddress>`
    select a.reseller_id as "resellerId", a.address_hash as hash, r.name as reseller, a.shown, a.state
      from email_link l
      join email_address a using (reseller_id, address_hash)
      join reseller r on r.id = a.reseller_id
     where l.token_hash = ${hashOf(token)} and l.purpose = ${purpose}
       and coalesce(l.expires_at > clock_timestamp(), true)
  `.execute(db)
  const [found] = rows
  if (found === undefined) throw new NoSuchLinkError()
  return found
}

/**
 * Confirms an address by a link, which ends with it: of two confirmations at once one succeeds. The endpoints that
 * waited continue where they stopped. Throws NoSuchLinkError.
 */
export function confirmAddress(db: Db, token: string): Promise<LinkedAddress> {
  return inTransaction(db, async (tx) => {
    const found = await findLinked(tx, 'confirm', token)
    const { rows } = await sql`
      delete from email_link where token_hash = ${hashOf(token)} returning token_hash
    `.execute(tx)
    if (rows.length === 0) throw new NoSuchLinkError()
    await setState(tx, found, 'confirmed')
    await sql`
      update webhook_endpoint e
         set disabled_at = null, disabled_reason = null, failures = 0, failing_since = null, open_until = null,
             held_until = null, updated_at = clock_timestamp()
       where ${sendsTo(found)} and disabled_reason in ('unconfirmed', 'unsubscribed')
    `.execute(tx)
    await sql`select ${notify('watch', sql`${found.resellerId}::bigint`)}`.execute(tx)
    return { ...found, state: 'confirmed' }
  })
}

/** Ends the messages of a reseller to an address, until its owner confirms it again. Throws NoSuchLinkError. */
export function unsubscribeAddress(db: Db, token: string): Promise<LinkedAddress> {
  return inTransaction(db, async (tx) => {
    const found = await findLinked(tx, 'unsubscribe', token)
    await setState(tx, found, 'unsubscribed')
    await replaceReason(tx, found, { from: 'unconfirmed', to: 'unsubscribed' })
    const { rows } = await sql<{ id: string }>`
      select id from webhook_endpoint e where ${sendsTo(found)} and disabled_at is null order by id for no key update
    `.execute(tx)
    await disableEndpoints(
      tx,
      rows.map(({ id }) => id),
      'unsubscribed',
    )
    return { ...found, state: 'unsubscribed' }
  })
}

/**
 * Sends the owner of an address that has unsubscribed a message with a link that confirms it. Throws NoSuchLinkError and
 * TooManyConfirmationsError.
 */
export function subscribeAgain(db: Db, token: string): Promise<LinkedAddress> {
  return inTransaction(db, async (tx) => {
    const found = await findLinked(tx, 'unsubscribe', token)
    if (found.state !== 'unsubscribed') return found
    await setState(tx, found, 'unconfirmed')
    await replaceReason(tx, found, { from: 'unsubscribed', to: 'unconfirmed' })
    await requestConfirmation(tx, found)
    return { ...found, state: 'unconfirmed' }
  })
}

/** Also ends the links and messages that would confirm the address. */
async function setState(tx: Tx, { resellerId, hash }: Address, state: AddressState): Promise<void> {
  await sql`
    update email_address set state = ${state}, changed_at = clock_timestamp(), send_at = null
     where reseller_id = ${resellerId} and address_hash = ${hash}
  `.execute(tx)
  await sql`
    delete from email_link
     where reseller_id = ${resellerId} and address_hash = ${hash} and purpose = 'confirm'
  `.execute(tx)
}

/** Whether endpoint `e` sends to an address. */
function sendsTo({ resellerId, hash }: Address): RawBuilder<boolean> {
  return sql`(e.reseller_id = ${resellerId} and e.target_hash = ${hash} and e.format = 'email')`
}

async function replaceReason(
  tx: Tx,
  address: Address,
  { from, to }: { readonly from: AddressState; readonly to: AddressState },
): Promise<void> {
  await sql`
    update webhook_endpoint e set disabled_reason = ${to}, updated_at = clock_timestamp()
     where ${sendsTo(address)} and disabled_reason = ${from}
  `.execute(tx)
}
