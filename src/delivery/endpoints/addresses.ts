import { isEmailAddress, shownEmail } from '../../platform/base/email-address.ts'
import { AppError } from '../../platform/base/errors.ts'
import { OPERATORS } from '../../platform/base/kinds.ts'
import { recordAction } from '../../platform/db/audit.ts'
import { type Db, type RawBuilder, sql, type Tx } from '../../platform/db/database.ts'
import { notify } from '../../platform/db/listener.ts'
import { affected, inTransaction } from '../../platform/db/transaction.ts'
import { ProblemError } from '../../platform/http/problems.ts'
import { requireReseller } from '../../resellers/resellers.ts'
import { hashOfTarget } from '../formats/target-limits.ts'
import { disableEndpoints } from './disable-endpoints.ts'
import { type Sealer, targetPlace } from './sealer.ts'

/** An e-mail address that a reseller may have messages sent to, as it may be shown. */
export interface AllowedAddress {
  readonly address: string
  readonly allowedAt: Date
}

/** An e-mail address of a reseller, as an operator names it. */
export interface NamedAddress {
  readonly reseller: string
  readonly address: string
  /** Who the operator is: a key, or `cli`. */
  readonly by: string
}

/** No operator allows the reseller to send to an address. */
class AddressNotAllowedError extends AppError {
  override readonly name = 'AddressNotAllowedError'
  override readonly code = 'delivery.address_not_allowed'

  constructor(shown: string) {
    super(`the operator has not allowed messages to ${shown}`)
  }
}

const ALLOWED = sql`shown as address, allowed_at as "allowedAt"`

/** The addresses that a reseller may have messages sent to. */
export async function listAddresses(db: Db, resellerId: number): Promise<AllowedAddress[]> {
  const { rows } = await sql<AllowedAddress>`
    select ${ALLOWED} from allowed_address where reseller_id = ${resellerId} order by shown, allowed_at, address_hash
  `.execute(db)
  return rows
}

/**
 * Throws AddressNotAllowedError unless an operator allows the address, or it is an operator's own. It stays allowed until the transaction ends, so
 * that an address is not disallowed between the check and the endpoint that was checked.
 */
export async function assertAllowed(
  tx: Tx,
  resellerId: number,
  { hash, shown }: { readonly hash: Buffer; readonly shown: string },
): Promise<void> {
  if (resellerId === OPERATORS.id) return
  const { rows } = await sql`
    select from allowed_address where reseller_id = ${resellerId} and address_hash = ${hash} for key share
  `.execute(tx)
  if (rows.length === 0) throw new AddressNotAllowedError(shown)
}

/** Allows an address to a reseller. Its endpoints that were disabled for want of that continue where they stopped. */
export async function allowAddress(db: Db, named: NamedAddress): Promise<AllowedAddress> {
  const { id, hash, shown } = await readNamed(db, named)
  return inTransaction(db, async (tx) => {
    const { rows } = await sql<AllowedAddress>`
      insert into allowed_address as a (reseller_id, address_hash, shown) values (${id}, ${hash}, ${shown})
      on conflict (reseller_id, address_hash) do update set shown = excluded.shown
      returning ${ALLOWED}
    `.execute(tx)
    await sql`
      update webhook_endpoint
         set disabled_at = null, disabled_reason = null, failures = 0, failing_since = null, open_until = null,
             held_until = null, updated_at = clock_timestamp()
       where ${sendsTo(id, hash)} and disabled_reason = 'not_allowed'
    `.execute(tx)
    await sql`select ${notify('watch', sql`${id}::bigint`)}`.execute(tx)
    await recordChange(tx, 'address allowed', { ...named, shown })
    const [allowed] = rows
    return allowed as AllowedAddress
  })
}

/** Ends the messages of a reseller to an address: its endpoints are disabled. Throws `not_found` if it is not allowed. */
export async function disallowAddress(db: Db, named: NamedAddress): Promise<void> {
  const { id, hash, shown } = await readNamed(db, named)
  await inTransaction(db, async (tx) => {
    const deleted = sql`delete from allowed_address where reseller_id = ${id} and address_hash = ${hash}`
    if ((await affected(deleted, tx)) === 0) {
      throw new ProblemError('not_found', {
        missing: 'address',
        detail: `the address ${shown} is not allowed`,
      })
    }
    const { rows } = await sql<{ id: string }>`
      select id from webhook_endpoint
       where ${sendsTo(id, hash)} and disabled_at is null
       order by id
         for no key update
    `.execute(tx)
    await disableEndpoints(
      tx,
      rows.map((endpoint) => endpoint.id),
      'not_allowed',
    )
    await recordChange(tx, 'address disallowed', { ...named, shown })
  })
}

async function readNamed(db: Db, { reseller, address }: NamedAddress) {
  const { id } = await requireReseller(db, reseller)
  if (!isEmailAddress(address)) {
    throw new ProblemError('request.invalid_body', {
      pointer: '/address',
      detail: 'address must be one e-mail address such as fares@agency.example',
    })
  }
  return {
    id,
    hash: hashOfTarget({ format: 'email', target: address }),
    shown: shownEmail(address),
  }
}

/** Whether an endpoint sends to an address. */
function sendsTo(resellerId: number, hash: Buffer): RawBuilder<boolean> {
  return sql`(reseller_id = ${resellerId} and target_hash = ${hash} and format = 'email')`
}

function recordChange(
  tx: Tx,
  action: string,
  { reseller, by, shown }: NamedAddress & { readonly shown: string },
): Promise<void> {
  return recordAction(tx, { by, action, target: `${reseller} ${shown}` })
}

/**
 * Gives the endpoints from before their targets had hashes those hashes. The addresses that they send to are allowed. Safe
 * to run at every start, by several processes at once.
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
      insert into allowed_address (reseller_id, address_hash, shown)
      select * from unnest(${mailed.map(({ resellerId }) => resellerId)}::bigint[],
                           ${mailed.map(({ hash }) => hash)}::bytea[],
                           ${mailed.map(({ target }) => shownEmail(target))}::text[])
      on conflict (reseller_id, address_hash) do nothing
    `.execute(tx)
  })
}
