import { createHash } from 'node:crypto'
import { createTransport } from 'nodemailer'
import { isAllowedEmail, isEmailAddress, parseMailbox } from '../../platform/base/email-address.ts'
import { isLoopbackHost } from '../../platform/base/loopback.ts'
import type { Scrub } from '../../platform/base/secrets.ts'
import { percentDecoded, plainLine } from '../../platform/base/text.ts'
import { type Db, sql } from '../../platform/db/database.ts'
import {
  BLOCKED,
  type Format,
  type Message,
  type SendResult,
  type Target,
  TLS_CODE,
} from './format.ts'
import { joinSentences, MAX_JOINED } from './sentences.ts'

export interface EmailRules {
  /** `smtp:` or `smtps:` with user and password; undefined: no e-mail is sent. */
  readonly smtpUrl: string | undefined
  /** The sender: an address, or `Name <address>`. */
  readonly from: string | undefined
  /** Addresses and domains that may receive e-mail. */
  readonly allowed: readonly string[]
}

export interface EmailDeps extends EmailRules {
  readonly limit: EmailLimit
  /** Masks the secrets of farewatch itself in the answers of the SMTP server. */
  readonly scrub: Scrub
  /** One limit for connection, login and message together. */
  readonly deadlineMs?: number
}

/** Less than the dispatcher allows a request, so that a server that hangs is reported as such. */
const DEADLINE_MS = 14_000
const STEP_TIMEOUT_MS = 10_000
const MAX_SUBJECT_CHARS = 200
const MAX_ANSWER_CHARS = 1_000

/** Why e-mail cannot be sent to an address; undefined if it can. */
export function emailFault(
  address: string,
  { smtpUrl, from, allowed }: EmailRules,
): string | undefined {
  if (smtpUrl === undefined || from === undefined) {
    return 'must not be an e-mail address, because the operator has set no SMTP_URL or no EMAIL_FROM'
  }
  if (!isEmailAddress(address)) return 'must be an e-mail address such as fares@agency.example'
  return isAllowedEmail(address, allowed)
    ? undefined
    : 'must be an address, or in a domain, that the operator has allowed in EMAIL_ALLOWED'
}

/** Sends all messages of one request as one e-mail of plain text. */
export function createEmailFormat(deps: EmailDeps): Format {
  const { smtpUrl, from, limit, scrub, deadlineMs = DEADLINE_MS } = deps
  const sender = parseMailbox(from ?? '')
  const transport = smtpUrl === undefined ? undefined : createTransport(smtpOptions(smtpUrl))
  return {
    name: 'email',
    maxMessages: MAX_JOINED,
    send: async (target, messages, signal) => {
      const { address } = target
      if (transport === undefined || sender === undefined) return notSetUp
      if (emailFault(address, deps) !== undefined) return BLOCKED
      const waitMs = await limit(target)
      if (waitMs > 0) return { kind: 'postponed', outcome: 'rate_limited', retryAfterMs: waitMs }
      const deadline = AbortSignal.timeout(deadlineMs)
      try {
        const { response } = await transport.sendMail({
          ...emailOf(target, messages, sender.address),
          from: sender,
          signal: AbortSignal.any([signal, deadline]),
        })
        return { kind: 'delivered', status: 250, answer: shown(response, address, scrub) }
      } catch (thrown) {
        signal.throwIfAborted()
        return resultOfThrown(thrown as SmtpError, (text) => shown(text, address, scrub))
      }
    },
  }
}

const notSetUp = { kind: 'failed', outcome: 'not_set_up', status: null, answer: '' } as const

/** A password is sent over TLS alone, unless the server is this machine. */
function smtpOptions(smtpUrl: string) {
  const { protocol, hostname, port, username, password } = new URL(smtpUrl)
  const secure = protocol === 'smtps:'
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    ...(port === '' ? {} : { port: Number(port) }),
    secure,
    requireTLS: !secure && username !== '' && !isLoopbackHost(hostname),
    ...(username === ''
      ? {}
      : { auth: { user: percentDecoded(username), pass: percentDecoded(password) } }),
    dnsTimeout: STEP_TIMEOUT_MS,
    connectionTimeout: STEP_TIMEOUT_MS,
    greetingTimeout: STEP_TIMEOUT_MS,
    socketTimeout: STEP_TIMEOUT_MS,
    socketCloseTimeout: 0,
    maxResponseSize: 65_536,
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

function emailOf({ endpointId, address }: Target, messages: readonly Message[], from: string) {
  const { title, lines } = joinSentences(messages)
  const list = lines.length === 1 ? lines : [`${title}:`, '', ...lines.map((line) => `- ${line}`)]
  const footer =
    'Times are local to the airport. ' +
    `This address is the endpoint ${endpointId} of a farewatch account, whose owner can change or delete it.`
  return {
    to: { name: '', address },
    envelope: { from, to: [address] },
    subject: plainLine(title, MAX_SUBJECT_CHARS),
    text: [...list, '', '-- ', footer, ''].join('\n'),
    messageId: `<${messageIdOf(messages)}@${from.slice(from.lastIndexOf('@') + 1)}>`,
    headers: { 'Auto-Submitted': 'auto-generated' },
    xMailer: false as const,
  }
}

/**
 * Every attempt with the same messages has the same id, so a mail program shows a repeated e-mail once. Other
 * messages make another id. Otherwise the mail program would hide messages that joined a later attempt.
 */
function messageIdOf(messages: readonly Message[]): string {
  const ids = messages.map(({ deliveryId }) => deliveryId)
  const [first = ''] = ids
  return ids.length === 1 ? first : createHash('sha256').update(ids.join()).digest('hex')
}

interface SmtpError {
  readonly code?: string
  readonly originalCode?: string
  readonly command?: string
  readonly responseCode?: number
  readonly response?: string
}

/**
 * A permanent answer about the recipient: there is no such mailbox. Other permanent answers may be the operator's
 * trouble.
 */
const NO_SUCH_MAILBOX = /^5\d\d[ -]5\.1\.[0-36]\b/

const OUTCOMES_BY_CODE: Readonly<Record<string, string>> = {
  ENOAUTH: 'auth',
  EDNS: 'dns',
  ETIMEDOUT: 'timeout',
  EABORT: 'timeout',
  EPROTOCOL: 'malformed',
  ECONNREFUSED: 'connect',
  EHOSTUNREACH: 'connect',
  ENETUNREACH: 'connect',
}

/** An error without a code does not come from the network. */
function resultOfThrown(error: SmtpError, show: (text: string) => string): SendResult {
  const { code, originalCode = '', command, responseCode: status = null, response = '' } = error
  if (code === undefined) throw error
  // The answer to a login concerns the operator alone.
  if (code === 'EAUTH') return { kind: 'failed', outcome: 'auth', status, answer: '' }
  const answer = show(response)
  if (command === 'RCPT TO' && NO_SUCH_MAILBOX.test(response)) {
    return { kind: 'gone', outcome: 'gone', status, answer }
  }
  const outcome = outcomeOf(code, originalCode, status)
  return { kind: 'failed', outcome, status, answer }
}

function outcomeOf(code: string, originalCode: string, status: number | null): string {
  if (code === 'ETLS' || TLS_CODE.test(originalCode)) return 'tls'
  if (status !== null && status >= 400) return status < 500 ? 'smtp_4xx' : 'smtp_5xx'
  return OUTCOMES_BY_CODE[originalCode] ?? OUTCOMES_BY_CODE[code] ?? 'reset'
}

/** What the SMTP server answered, without the address, which is a secret of the reseller. */
function shown(response: string, address: string, scrub: Scrub): string {
  const masked = response.replace(new RegExp(RegExp.escape(address), 'gi'), '[redacted]')
  return plainLine(scrub(masked), MAX_ANSWER_CHARS)
}

/** Takes one message of an address's limit. Returns how long to wait if none is left; 0 if one was taken. */
export type EmailLimit = (target: {
  readonly endpointId: string
  readonly address: string
}) => Promise<number>

const HOUR_MS = 3_600_000

/**
 * A limit of messages an hour for each address of a reseller, kept by all processes together on the database's
 * clock. It belongs to the address, so another endpoint for it brings no more messages.
 *
 * About half of the messages may go out at once, and the rest are spread evenly. In any hour there are at most
 * `perHour`: with a burst of b and one message every hour/k there are at most b + k − 1. Source: the generic cell
 * rate algorithm, ITU-T I.371.
 */
export function createEmailLimit(db: Db, perHour: number): EmailLimit {
  const burst = Math.ceil(perHour / 2)
  const everyMs = HOUR_MS / (perHour - burst + 1)
  const aheadMs = (burst - 1) * everyMs
  return async ({ endpointId, address }) => {
    const hash = createHash('sha256').update(address.toLowerCase()).digest()
    const { rows } = await sql<{ waitMs: number }>`
      with clock as (select clock_timestamp() as now)
      insert into email_pace as p (reseller_id, address_hash, next_at)
      select e.reseller_id, ${hash}, clock.now + ${ms(everyMs)}
        from webhook_endpoint e, clock
       where e.id = ${endpointId}
      on conflict (reseller_id, address_hash) do update
         set next_at = case when p.next_at <= excluded.next_at + ${ms(aheadMs - everyMs)}
                            then greatest(p.next_at + ${ms(everyMs)}, excluded.next_at)
                            else p.next_at end
      returning case when old.next_at is distinct from new.next_at then 0
                     else ceil(extract(epoch from old.next_at - ${ms(aheadMs)} - clock_timestamp()) * 1000)::float8 end as "waitMs"
    `.execute(db)
    // An endpoint that was deleted meanwhile has no row.
    return Math.max(0, rows[0]?.waitMs ?? 0)
  }
}

function ms(value: number) {
  return sql`make_interval(secs => ${value / 1000})`
}
