const MAX_ADDRESS_CHARS = 254
/**
 * An address without quotes, comments and routes (`%`, `!`): those have more than one reading. A name of a host in
 * another script is written in its ASCII form.
 */
const ADDRESS =
  /^[A-Za-z0-9#$&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9#$&'*+/=?^_`{|}~-]+)*@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{0,61}[a-z]$/i
const MAILBOX = /^(?<name>[^<>"\p{Cc}]*)<(?<address>[^<>]*)>$/u

/** An address with the name that mail programs show. */
interface Mailbox {
  readonly name: string
  readonly address: string
}

/** Whether a text is one e-mail address that every mail server reads alike. */
export function isEmailAddress(text: string): boolean {
  return text.length <= MAX_ADDRESS_CHARS && ADDRESS.test(text) && text.indexOf('@') <= 64
}

/** @example parseMailbox('Fares <fares@agency.example>') // { name: 'Fares', address: 'fares@agency.example' } */
export function parseMailbox(text: string): Mailbox | undefined {
  const { name = '', address = text } = MAILBOX.exec(text)?.groups ?? {}
  return isEmailAddress(address) ? { name: name.trim(), address } : undefined
}

/** An address as it may be printed: the first character and the domain. */
export function shownEmail(address: string): string {
  return `${address.slice(0, 1)}…${address.slice(address.lastIndexOf('@'))}`
}
