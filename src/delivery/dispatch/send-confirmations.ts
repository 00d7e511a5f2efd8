import { randomBytes } from 'node:crypto'
import { plainLine } from '../../platform/base/text.ts'
import { type Db, PREPARED, sql } from '../../platform/db/database.ts'
import { pauseEnd } from '../../platform/db/pauses.ts'
import { inTransaction, selectOne } from '../../platform/db/transaction.ts'
import { linkTo, TOKEN_BYTES } from '../endpoints/address-links.ts'
import { type Address, LINK_HOURS } from '../endpoints/addresses.ts'
import { type Sealer, targetPlace } from '../endpoints/sealer.ts'
import type { PostResult, Target } from '../formats/format.ts'
import type { Mail, Mailer } from '../formats/mailer.ts'
import { hashOf } from '../formats/target-limits.ts'
import { retryPauseMs } from './delivery-rules.ts'

interface ConfirmationDeps {
  readonly db: Db
  readonly sealer: Sealer
  readonly mailer: Mailer
  /** Undefined: no link can be made, so nothing is sent. */
  readonly publicUrl: string | undefined
  readonly unsubscribeUrl: (target: Target) => Promise<string | undefined>
  readonly random: () => number
}

/** What became of the messages of one run. */
interface SentConfirmations {
  readonly sent: number
  readonly failed: number
}

/** How many messages are sent at once. */
const AT_ONCE = 10
/** Longer than an attempt. If its process dies, the message is sent again after it. */
const LEASE_SECONDS = 60
/** The attempts of a message take 18 hours. Afterwards its reseller can request another. */
const MAX_ATTEMPTS = 7

/**
 * Sends the requested messages that ask owners of addresses for the confirmation. Each attempt has a token of its own, of
 * which the hash alone is stored, and ends the links of the earlier ones. None is sent while deliveries are paused. Safe
 * to run in several processes.
 */
export async function sendConfirmations(
  deps: ConfirmationDeps,
  signal: AbortSignal,
): Promise<SentConfirmations> {
  const { db, publicUrl } = deps
  if (publicUrl === undefined || !(await areDue(db))) return { sent: 0, failed: 0 }
  const requests = await claimRequests(db)
  const ended = await Promise.allSettled(
    requests.map(async (request) => ({
      request,
      result: await sendOne({ ...deps, publicUrl }, request, signal),
    })),
  )
  const results = ended.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  await recordResults(deps, results)
  // Their leases end, and they are sent again.
  for (const one of ended) if (one.status === 'rejected') throw one.reason
  const sent = results.filter(({ result }) => result.kind === 'delivered').length
  return { sent, failed: results.length - sent }
}

/** Whether messages are to be sent now. An address without an endpoint may wait for one among them. */
async function areDue(db: Db): Promise<boolean> {
  const { found } = await selectOne(
    sql<{ found: boolean }>`${PREPARED}
      select exists (select from email_address where send_at <= now()) and ${pauseEnd('deliveries')} <= now() as found
    `,
    db,
  )
  return found
}

/** A message to send, with one of the endpoints that wait for the confirmation. */
interface Request extends Address {
  readonly token: string
  readonly reseller: string
  readonly attempts: number
  readonly endpointId: string
  readonly target: Buffer
}

/** Takes what is due, with tokens that are valid from now on. An address without an endpoint waits for one. */
async function claimRequests(db: Db): Promise<Request[]> {
  return inTransaction(db, async (tx) => {
    const { rows } = await sql<Omit<Request, 'token'>>`
      with due as (
        select a.reseller_id, a.address_hash, r.name, e.id, e.target
          from email_address a
          join reseller r on r.id = a.reseller_id and r.disabled_at is null
         cross join lateral (
           select id, target from webhook_endpoint
            where reseller_id = a.reseller_id and target_hash = a.address_hash and format = 'email'
            limit 1) e
         where a.send_at <= now() and ${pauseEnd('deliveries')} <= now()
         order by a.send_at
         limit ${AT_ONCE}
           for update of a skip locked
      )
      update email_address a
         set send_at = now() + make_interval(secs => ${LEASE_SECONDS}), attempts = attempts + 1
        from due d
       where a.reseller_id = d.reseller_id and a.address_hash = d.address_hash
      returning a.reseller_id as "resellerId", a.address_hash as hash, d.name as reseller, a.attempts,
                d.id as "endpointId", d.target
    `.execute(tx)
    const requests = rows.map((row) => ({
      ...row,
      token: randomBytes(TOKEN_BYTES).toString('base64url'),
    }))
    const owners = sql`
      unnest(${requests.map(({ token }) => hashOf(token))}::bytea[],
             ${requests.map(({ resellerId }) => resellerId)}::bigint[], ${requests.map(({ hash }) => hash)}::bytea[])
        as o (token_hash, reseller_id, address_hash)
    `
    await sql`
      delete from email_link l using ${owners}
       where l.reseller_id = o.reseller_id and l.address_hash = o.address_hash and l.purpose = 'confirm'
    `.execute(tx)
    await sql`
      insert into email_link (token_hash, purpose, reseller_id, address_hash, expires_at)
      select token_hash, 'confirm', reseller_id, address_hash, now() + make_interval(hours => ${LINK_HOURS})
        from ${owners}
    `.execute(tx)
    return requests
  })
}

async function sendOne(
  { sealer, mailer, publicUrl, unsubscribeUrl }: ConfirmationDeps & { readonly publicUrl: string },
  { token, reseller, endpointId, target }: Request,
  signal: AbortSignal,
): Promise<PostResult> {
  const address = sealer.open(target, targetPlace(endpointId))
  const end = await unsubscribeUrl({ endpointId, address, secrets: [] })
  const link = linkTo(publicUrl, 'confirm', token)
  return mailer.send(address, confirmationMail({ token, reseller, link, end }), signal)
}

interface Asked {
  readonly token: string
  readonly reseller: string
  readonly link: string
  readonly end: string | undefined
}

const MAX_NAME_CHARS = 80

function confirmationMail({ token, reseller, link, end }: Asked): Mail {
  const name = plainLine(reseller, MAX_NAME_CHARS)
  return {
    subject: `Confirm this address for messages of ${name}`,
    text: [
      `The account "${name}" of farewatch wants to send changes of its watched fares to this address.`,
      '',
      `To receive them, open this link within ${LINK_HOURS} hours and press the button:`,
      link,
      '',
      'Otherwise do nothing: without it no change is sent.',
      ...(end === undefined ? [] : ['', '-- ', `To end also these requests: ${end}`]),
      '',
    ].join('\n'),
    // Each attempt has a link of its own, so it is a message of its own.
    id: hashOf(token).toString('hex'),
    unsubscribeUrl: end,
  }
}

interface Result {
  readonly request: Request
  readonly result: PostResult
}

/** A request that was confirmed, repeated or withdrawn meanwhile is not changed. */
async function recordResults(
  { db, random }: Pick<ConfirmationDeps, 'db' | 'random'>,
  results: readonly Result[],
): Promise<void> {
  if (results.length === 0) return
  const failures = results.map(({ result }) =>
    result.kind === 'delivered' ? null : result.outcome,
  )
  const pauses = results.map(({ request: { attempts }, result }) =>
    result.kind === 'failed' && attempts < MAX_ATTEMPTS
      ? retryPauseMs({ attempts, retryAfterMs: result.retryAfterMs }, random)
      : null,
  )
  await sql`
    update email_address a
       set send_at = now() + s.pause_ms * interval '1 millisecond', failure = s.failure,
           sent_at = case when s.failure is null then now() end
      from unnest(${results.map(({ request }) => request.resellerId)}::bigint[],
                  ${results.map(({ request }) => request.hash)}::bytea[],
                  ${results.map(({ request }) => request.attempts)}::int[],
                  ${failures}::text[], ${pauses}::float8[])
           s (reseller_id, address_hash, attempts, failure, pause_ms)
     where a.reseller_id = s.reseller_id and a.address_hash = s.address_hash and a.attempts = s.attempts
       and a.send_at is not null
  `.execute(db)
}
