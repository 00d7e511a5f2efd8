import { createHash } from 'node:crypto'
import { isEmailAddress } from '../../platform/base/email-address.ts'
import type { Format, Message, Target } from './format.ts'
import type { EmailRules, Mail, Mailer } from './mailer.ts'
import { joinSentences, MAX_JOINED } from './sentences.ts'

export interface EmailDeps {
  readonly mailer: Mailer
  /** Takes one message of an address's limit. Returns how long to wait if none is left; 0 if one was taken. */
  readonly limit: (address: string) => Promise<number>
  /** The address of the page; undefined if it is not known. */
  readonly publicUrl?: string | undefined
}

/** Why an e-mail address cannot be the target of an endpoint; undefined if it can. */
export function emailFault(address: string, { smtpUrl, from }: EmailRules): string | undefined {
  if (smtpUrl === undefined || from === undefined) {
    return 'must not be an e-mail address, because the operator has set no SMTP_URL or no EMAIL_FROM'
  }
  return isEmailAddress(address)
    ? undefined
    : 'must be an e-mail address such as fares@agency.example'
}

/** Sends all messages of one request as one e-mail of plain text. */
export function createEmailFormat({ mailer, limit, publicUrl }: EmailDeps): Format {
  return {
    name: 'email',
    maxMessages: MAX_JOINED,
    send: async (target, messages, signal) => {
      const waitMs = await limit(target.address)
      if (waitMs > 0) return { kind: 'postponed', outcome: 'rate_limited', retryAfterMs: waitMs }
      return mailer.send(target.address, mailOf(target, messages, publicUrl), signal)
    },
  }
}

function mailOf(
  { endpointId }: Target,
  messages: readonly Message[],
  publicUrl: string | undefined,
): Mail {
  const { title, lines } = joinSentences(messages)
  const list = lines.length === 1 ? lines : [`${title}:`, '', ...lines.map((line) => `- ${line}`)]
  const footer =
    'Times are local to the airport. ' +
    `This address is the endpoint ${endpointId} of a farewatch account, whose owner can change or delete it. ` +
    'The operator of farewatch can end all messages of the account to it.'
  const page = publicUrl === undefined ? [] : [`${publicUrl}/#/deliveries/${endpointId}`]
  return {
    subject: title,
    text: [...list, '', '-- ', footer, ...page, ''].join('\n'),
    id: messageIdOf(messages),
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
