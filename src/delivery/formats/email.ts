import { createHash } from 'node:crypto'
import { isAllowedEmail, isEmailAddress } from '../../platform/base/email-address.ts'
import type { Format, Message, Target } from './format.ts'
import type { EmailRules, Mail, Mailer } from './mailer.ts'
import { joinSentences, MAX_JOINED } from './sentences.ts'

export interface EmailDeps {
  readonly mailer: Mailer
  /** Takes one message of an address's limit. Returns how long to wait if none is left; 0 if one was taken. */
  readonly limit: (address: string) => Promise<number>
  /** The page on which the owner of an address ends its messages; undefined if no link to it can be made. */
  readonly unsubscribeUrl: (target: Target) => Promise<string | undefined>
}

/**
 * Why an e-mail address cannot be the target of an endpoint; undefined if it can.
 * @param publicUrl begins the links to confirm the address and to unsubscribe.
 */
export function emailFault(
  address: string,
  { smtpUrl, from, allowed }: EmailRules,
  publicUrl: string | undefined,
): string | undefined {
  if (smtpUrl === undefined || from === undefined) {
    return 'must not be an e-mail address, because the operator has set no SMTP_URL or no EMAIL_FROM'
  }
  if (publicUrl === undefined) {
    return 'must not be an e-mail address, because the operator has set no PUBLIC_URL, so no link to confirm it can be made'
  }
  if (!isEmailAddress(address)) return 'must be an e-mail address such as fares@agency.example'
  return isAllowedEmail(address, allowed)
    ? undefined
    : 'must be an address, or in a domain, that the operator has allowed in EMAIL_ALLOWED'
}

/** Sends all messages of one request as one e-mail of plain text. */
export function createEmailFormat({ mailer, limit, unsubscribeUrl }: EmailDeps): Format {
  return {
    name: 'email',
    maxMessages: MAX_JOINED,
    send: async (target, messages, signal) => {
      const waitMs = await limit(target.address)
      if (waitMs > 0) return { kind: 'postponed', outcome: 'rate_limited', retryAfterMs: waitMs }
      const mail = mailOf(target, messages, await unsubscribeUrl(target))
      return mailer.send(target.address, mail, signal)
    },
  }
}

function mailOf(
  { endpointId }: Target,
  messages: readonly Message[],
  unsubscribeUrl: string | undefined,
): Mail {
  const { title, lines } = joinSentences(messages)
  const list = lines.length === 1 ? lines : [`${title}:`, '', ...lines.map((line) => `- ${line}`)]
  const footer =
    'Times are local to the airport. ' +
    `This address is the endpoint ${endpointId} of a farewatch account, whose owner can change or delete it.`
  const end = unsubscribeUrl === undefined ? [] : [`To end these messages: ${unsubscribeUrl}`]
  return {
    subject: title,
    text: [...list, '', '-- ', footer, ...end, ''].join('\n'),
    id: messageIdOf(messages),
    unsubscribeUrl,
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
