import { isIP } from 'node:net'
import { cronFault } from '../base/cron.ts'
import { MIN_SECRET_CHARS } from '../base/secrets.ts'

/** How one setting is read from its text. */
export interface Setting<T> {
  readonly about: string
  /** Never printed; may be given as a file. */
  readonly secret: boolean
  readonly preset: T
  parse(text: string): { readonly value: T } | { readonly fault: string }
  /** What may be shown of a secret; nothing where this is missing. */
  shown?(value: string): string | undefined
}

export function text(about: string, preset: string): Setting<string> {
  return { about, secret: false, preset, parse: (value) => ({ value }) }
}

/** An address of this machine. A name would be looked up, and might be one address today and another tomorrow. */
export function address(about: string, preset: string): Setting<string> {
  return {
    about,
    secret: false,
    preset,
    parse: (value) =>
      isIP(value) === 0
        ? { fault: `must be an IP address such as "${preset}", not "${value}"` }
        : { value },
  }
}

/** A value that is never shown, long enough for the scrubber to find without masking ordinary words. */
export function secret(about: string): Setting<string | undefined> {
  return {
    about,
    secret: true,
    preset: undefined,
    parse: (value) =>
      value.length < MIN_SECRET_CHARS
        ? { fault: `must have at least ${MIN_SECRET_CHARS} characters` }
        : { value },
  }
}

export function url(
  about: string,
  options: { protocols: readonly string[]; secret?: boolean },
): Setting<string | undefined> {
  const forms = options.protocols.map((protocol) => `${protocol}//…`).join(' or ')
  const isSecret = options.secret ?? false
  return {
    about,
    secret: isSecret,
    preset: undefined,
    shown: placeOf,
    parse: (value) => {
      const parsed = URL.canParse(value) ? new URL(value) : undefined
      if (parsed === undefined || !options.protocols.includes(parsed.protocol)) {
        return { fault: `must be a URL of the form ${forms}${isSecret ? ENCODE : ''}` }
      }
      const fault = isSecret ? credentialFault(parsed) : addressFault(parsed)
      if (fault !== undefined) return { fault }
      return { value }
    },
  }
}

/** An address that is shown as it is: nothing in it may be a credential. */
function addressFault({ username, password, search, hash }: URL): string | undefined {
  return `${username}${password}${search}${hash}` === ''
    ? undefined
    : 'must hold no user, no password, no query and no fragment'
}

const ENCODE = ', in its password # is %23, / is %2F, @ is %40'

/** An unescaped # in a password would end the URL, and make a host of the rest. */
function credentialFault({ hash }: URL): string | undefined {
  return hash === '' ? undefined : `must hold no #${ENCODE}`
}

/** Where a store is, without the way in. */
function placeOf(value: string): string | undefined {
  const { protocol, host, pathname } = new URL(value)
  return host === '' ? undefined : `${protocol}//${host}${pathname}`
}

export function integer(
  about: string,
  { min, max, preset }: { min: number; max: number; preset: number },
): Setting<number> {
  return {
    about,
    secret: false,
    preset,
    parse: (value) =>
      /^-?\d{1,12}$/.test(value) && Number(value) >= min && Number(value) <= max
        ? { value: Number(value) }
        : { fault: `must be a whole number from ${min} to ${max}, not "${value}"` },
  }
}

export function decimal(
  about: string,
  { min, max, preset }: { min: number; max: number; preset: number },
): Setting<number> {
  return {
    about,
    secret: false,
    preset,
    parse: (value) =>
      /^\d{1,12}(\.\d{1,6})?$/.test(value) && Number(value) >= min && Number(value) <= max
        ? { value: Number(value) }
        : { fault: `must be a number from ${min} to ${max}, not "${value}"` },
  }
}

export function cron(about: string, preset: string): Setting<string> {
  return {
    about,
    secret: false,
    preset,
    parse: (value) => {
      const fault = cronFault(value)
      return fault === undefined
        ? { value }
        : { fault: `must be a cron pattern such as "${preset}", not "${value}": ${fault}` }
    },
  }
}

export function choice<T extends string>(
  about: string,
  choices: readonly T[],
  preset: NoInfer<T>,
): Setting<T> {
  return {
    about,
    secret: false,
    preset,
    parse: (value) => {
      const found = choices.find((known) => known === value)
      return found === undefined
        ? { fault: `must be one of ${choices.join(', ')}, not "${value}"` }
        : { value: found }
    },
  }
}
