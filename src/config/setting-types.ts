import { isIP } from 'node:net'
import { cronFault } from '../base/cron.ts'
import { MIN_SECRET_CHARS } from '../base/secrets.ts'

/** How a setting is parsed and printed. */
export interface Setting<T> {
  readonly about: string
  /** A secret is never printed, and may be given as a file. */
  readonly secret: boolean
  readonly preset: T
  parse(text: string): { readonly value: T } | { readonly fault: string }
  /** The part of a secret that may be printed. If missing, nothing may. */
  shown?(value: string): string | undefined
}

export function text(about: string, preset: string): Setting<string> {
  return { about, secret: false, preset, parse: (value) => ({ value }) }
}

/** An IP address of this machine. Host names are refused, because their address may change. */
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

/** A secret. It is long enough that scrubbing it does not mask ordinary words. */
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
    shown: addressOf,
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

/** A URL that is printed in full must contain no credential. */
function addressFault({ username, password, search, hash }: URL): string | undefined {
  return `${username}${password}${search}${hash}` === ''
    ? undefined
    : 'must hold no user, no password, no query and no fragment'
}

const ENCODE = ', in its password # is %23, / is %2F, @ is %40'

/** An unescaped # in a password would end the URL early. */
function credentialFault({ hash }: URL): string | undefined {
  return hash === '' ? undefined : `must hold no #${ENCODE}`
}

/** The address of a store without credentials. */
function addressOf(value: string): string | undefined {
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
