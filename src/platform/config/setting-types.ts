import { BlockList, isIP } from 'node:net'
import { cronFault, isZone } from '../base/cron.ts'
import { parseMailbox } from '../base/email-address.ts'
import { MIN_SECRET_CHARS } from '../base/secrets.ts'
import { sslFault } from '../base/server-options.ts'
import { splitList } from '../base/text.ts'

/** How a setting is parsed and printed. */
export interface Setting<T> {
  readonly about: string
  /** The values that "parse" takes: "a whole number from 1 to 10". Empty if any text is a value. */
  readonly accepts: string
  /** A secret is never printed, and may be given as a file. */
  readonly secret: boolean
  readonly preset: T
  /** A value that "parse" takes. */
  readonly example: string
  parse(text: string): { readonly value: T } | { readonly fault: string }
  /** The part of a secret that may be printed. If missing, nothing may. */
  shown?(value: string): string | undefined
}

interface TextualOptions<T> {
  readonly about: string
  readonly accepts: string
  readonly preset: T
  /** Unset: the preset. */
  readonly example?: string
}

/** A setting whose text is its value unless `faultOf` finds a fault. */
function textual<T extends string | undefined>(
  { about, accepts, preset, example = preset ?? '' }: TextualOptions<T>,
  faultOf: (value: string) => string | undefined,
): Setting<T | string> {
  const parse = (value: string) => {
    const fault = faultOf(value)
    return fault === undefined ? { value } : { fault }
  }
  return { about, accepts, secret: false, preset, example, parse }
}

export function text(about: string, preset: string): Setting<string> {
  return textual({ about, accepts: '', preset }, () => undefined)
}

/** An IP address of this machine. Host names are refused, because their address may change. */
export function address(about: string, preset: string): Setting<string> {
  return textual({ about, accepts: 'an IP address', preset }, (value) =>
    isIP(value) === 0 ? `must be an IP address such as "${preset}", not "${value}"` : undefined,
  )
}

interface ListOptions {
  readonly preset: string
  readonly example?: string
  readonly entry: { readonly accepts: string; readonly of: RegExp }
}

/** A list in one line; `splitList` gives its entries. */
export function list(about: string, { preset, example, entry }: ListOptions): Setting<string> {
  const accepts = `a list of ${entry.accepts}, with commas`
  return textual({ about, accepts, preset, ...(example && { example }) }, (value) => {
    const wrong = splitList(value).find((part) => !entry.of.test(part))
    return wrong === undefined ? undefined : `must be ${accepts}; "${wrong}" is none`
  })
}

/** An e-mail address, with or without a name. */
export function mailbox(about: string, example: string): Setting<string | undefined> {
  const accepts = 'user@host.example or Name <user@host.example>'
  return textual({ about, accepts, preset: undefined, example }, (value) =>
    parseMailbox(value) === undefined ? `must have the form ${accepts}, not "${value}"` : undefined,
  )
}

/** Networks in one line; `splitList` gives them. */
export function networks(about: string): Setting<string> {
  const accepts = 'a list of networks such as 10.1.0.0/16, with commas'
  return textual({ about, accepts, preset: '', example: '10.1.0.0/16' }, (value) =>
    splitList(value).every(isNetwork) ? undefined : `must be ${accepts}, not "${value}"`,
  )
}

/** With a port, as in 127.0.0.1/32:8093, only that port of the network is meant. */
function isNetwork(text: string): boolean {
  const [, address = '', bits = '', port = '1'] =
    /^([^/]+)\/(\d{1,3})(?::(\d{1,5}))?$/.exec(text) ?? []
  const family = isIP(address)
  if (family === 0 || Number(port) < 1 || Number(port) > 65_535) return false
  try {
    new BlockList().addSubnet(address, Number(bits), family === 6 ? 'ipv6' : 'ipv4')
    return true
  } catch {
    return false
  }
}

export function cron(about: string, preset: string): Setting<string> {
  return textual({ about, accepts: 'a cron pattern', preset }, (value) => {
    const fault = cronFault(value)
    if (fault === undefined) return undefined
    return `must be a cron pattern such as "${preset}", not "${value}": ${fault}`
  })
}

export function zone(about: string, preset: string): Setting<string> {
  const accepts = 'the name of a time zone such as Europe/Madrid'
  return textual({ about, accepts, preset }, (value) =>
    isZone(value) ? undefined : `must be ${accepts}, not "${value}"`,
  )
}

export function choice<T extends string>(
  about: string,
  choices: readonly T[],
  preset: NoInfer<T>,
): Setting<T> {
  const accepts = `one of ${choices.join(', ')}`
  const setting = textual({ about, accepts, preset }, (value) =>
    choices.some((known) => known === value) ? undefined : `must be ${accepts}, not "${value}"`,
  )
  return setting as Setting<T>
}

interface SecretOptions {
  readonly minChars?: number
  readonly example: string
  /** The command that makes one. */
  readonly madeBy?: string
}

/** A secret. It is long enough that scrubbing it does not mask ordinary words. */
export function secret(
  about: string,
  { minChars = MIN_SECRET_CHARS, example, madeBy }: SecretOptions,
): Setting<string | undefined> {
  const hint = madeBy === undefined ? '' : `, as "${madeBy}" prints`
  const accepts = `at least ${minChars} characters${hint}`
  const setting = textual({ about, accepts, preset: undefined, example }, (value) =>
    value.length < minChars ? `must have ${accepts}` : undefined,
  )
  return { ...setting, secret: true }
}

interface UrlOptions {
  readonly protocols: readonly string[]
  readonly secret?: boolean
  readonly example: string
}

export function url(
  about: string,
  { protocols, secret: isSecret = false, example }: UrlOptions,
): Setting<string | undefined> {
  const forms = protocols.map((protocol) => `${protocol}//…`).join(' or ')
  const setting = textual({ about, accepts: forms, preset: undefined, example }, (value) => {
    const parsed = URL.canParse(value) ? new URL(value) : undefined
    if (parsed === undefined || !protocols.includes(parsed.protocol)) {
      return `must be a URL of the form ${forms}${isSecret ? ENCODE : ''}`
    }
    return isSecret ? credentialFault(parsed) : addressFault(parsed)
  })
  return {
    ...setting,
    secret: isSecret,
    shown: protocols.includes('https:') ? originOf : addressOf,
  }
}

/** A setting whose file may be empty: docker compose mounts the file whether or not the setting is used. */
export function orEmpty<T>(setting: Setting<T | undefined>): Setting<T | undefined> {
  return {
    ...setting,
    parse: (given) => (given === '' ? { value: undefined } : setting.parse(given)),
  }
}

/** A URL that is printed in full must contain no credential. */
function addressFault({ username, password, search, hash }: URL): string | undefined {
  return `${username}${password}${search}${hash}` === ''
    ? undefined
    : 'must hold no user, no password, no query and no fragment'
}

const ENCODE = ', in its password # is %23, / is %2F, @ is %40'

/** An unescaped # in a password would end the URL early. */
function credentialFault(given: URL): string | undefined {
  return given.hash === '' ? sslFault(given) : `must hold no #${ENCODE}`
}

/** The address of a store without credentials. */
function addressOf(value: string): string | undefined {
  const { protocol, host, pathname } = new URL(value)
  return host === '' ? undefined : `${protocol}//${host}${pathname}`
}

/** The path of a service on the web may be its key. */
function originOf(value: string): string {
  return `${new URL(value).origin}/…`
}

interface Range {
  readonly min: number
  readonly max: number
  readonly preset: number
}

export function integer(about: string, range: Range): Setting<number> {
  return number(about, range, { pattern: /^-?\d{1,12}$/, noun: 'a whole number' })
}

export function decimal(about: string, range: Range): Setting<number> {
  return number(about, range, { pattern: /^\d{1,12}(\.\d{1,6})?$/, noun: 'a number' })
}

function number(
  about: string,
  { min, max, preset }: Range,
  { pattern, noun }: { readonly pattern: RegExp; readonly noun: string },
): Setting<number> {
  const accepts = `${noun} from ${min} to ${max}`
  const parse = (value: string) =>
    pattern.test(value) && Number(value) >= min && Number(value) <= max
      ? { value: Number(value) }
      : { fault: `must be ${accepts}, not "${value}"` }
  return { about, accepts, secret: false, preset, example: String(preset), parse }
}
