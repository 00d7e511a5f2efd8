import { createTransport } from 'nodemailer'
import { isEmailAddress, parseMailbox } from '../../platform/base/email-address.ts'
import { isLoopbackHost } from '../../platform/base/loopback.ts'
import type { Scrub } from '../../platform/base/secrets.ts'
import { percentDecoded, plainLine } from '../../platform/base/text.ts'
import { BLOCKED, type PostResult, TLS_CODE } from './format.ts'

export interface EmailRules {
  /** `smtp:` or `smtps:` with user and password; undefined: no e-mail is sent. */
  readonly smtpUrl: string | undefined
  /** The sender: an address, or `Name <address>`. */
  readonly from: string | undefined
}

/** One e-mail of plain text. */
export interface Mail {
  readonly subject: string
  readonly text: string
  /** The part of the Message-ID before the @. A mail program shows e-mails with the same id once. */
  readonly id: string
}

/** Sends e-mail over the SMTP server of the operator. */
export interface Mailer {
  /** Rejects with the signal's reason after an abort; every other failure is a result. */
  send(address: string, mail: Mail, signal: AbortSignal): Promise<PostResult>
}

export interface MailerDeps extends EmailRules {
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

export function createMailer(deps: MailerDeps): Mailer {
  const { smtpUrl, from, scrub, deadlineMs = DEADLINE_MS } = deps
  const sender = parseMailbox(from ?? '')
  const transport = smtpUrl === undefined ? undefined : createTransport(smtpOptions(smtpUrl))
  return {
    send: async (address, mail, signal) => {
      if (transport === undefined || sender === undefined) return notSetUp
      if (!isEmailAddress(address)) return BLOCKED
      const deadline = AbortSignal.timeout(deadlineMs)
      try {
        const { response } = await transport.sendMail({
          ...fieldsOf(address, mail, sender.address),
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

function fieldsOf(address: string, { subject, text, id }: Mail, from: string) {
  return {
    to: { name: '', address },
    envelope: { from, to: [address] },
    subject: plainLine(subject, MAX_SUBJECT_CHARS),
    text,
    messageId: `<${id}@${from.slice(from.lastIndexOf('@') + 1)}>`,
    headers: { 'Auto-Submitted': 'auto-generated' },
    xMailer: false as const,
  }
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
function resultOfThrown(error: SmtpError, show: (text: string) => string): PostResult {
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
