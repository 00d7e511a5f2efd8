import { shownEmail } from '../../platform/base/email-address.ts'
import { AppError } from '../../platform/base/errors.ts'
import {
  CHAT_FORMATS,
  type DisabledReason,
  type EndpointFormat,
} from '../../platform/base/kinds.ts'
import { instantOfLocal, zoneOffsetMs } from '../../platform/base/local-time.ts'
import { nameFault, textFault } from '../../platform/base/text.ts'
import { ProblemError } from '../../platform/http/problems.ts'
import { CHATS, type ChatHosts, chatUrlFault } from '../formats/chats.ts'
import { emailFault } from '../formats/email.ts'
import type { Template } from '../formats/format.ts'
import type { EmailRules } from '../formats/mailer.ts'
import { hashOfTarget, TEST_LIMIT } from '../formats/target-limits.ts'
import { type TargetPolicy, urlFault } from '../formats/target-policy.ts'
import { templateFault } from '../formats/template.ts'
import type { Digest, EndpointSettings, QuietHours } from './endpoint-shapes.ts'

export type Given<T> = { readonly [N in keyof T]?: T[N] | undefined }
export type NewEndpoint = Given<EndpointSettings> &
  Pick<EndpointSettings, 'target'> & { readonly format?: EndpointFormat | undefined }

const MAX_DESCRIPTION_CHARS = 200

type Checked = Given<EndpointSettings> & { readonly format: EndpointFormat }

/** Throws a ProblemError that names the first field at fault. What a schema can say is left to the schema. */
export function assertValid(given: Checked, targetRules: TargetRules): void {
  const { description = '', lists, headers, template } = given
  const found =
    targetFault({ ...given, digest: given.digest ?? null }, targetRules) ??
    faultOf(
      'quietHours',
      given.quietHours ? quietFault(given.format, given.quietHours) : undefined,
    ) ??
    faultOf(
      'description',
      description === '' ? undefined : textFault(description, MAX_DESCRIPTION_CHARS),
    ) ??
    faultOf(
      'lists',
      lists?.map(nameFault).find((fault) => fault !== undefined),
    ) ??
    faultOf('headers', headers ? headersFault(given.format, headers) : undefined) ??
    faultOf('template', template === undefined ? undefined : formFault(given.format, template))
  if (found === undefined) return
  throw new ProblemError('request.invalid_body', {
    pointer: `/${found.field}`,
    detail: `${found.field} ${found.fault}`,
  })
}

function faultOf(field: string, fault: string | undefined) {
  return fault === undefined ? undefined : { field, fault }
}

function formFault(format: EndpointFormat, template: Template | null): string | undefined {
  if (format !== 'json') return template === null ? undefined : 'is for json only'
  return template === null ? 'must be given for json' : templateFault(template)
}

/** Set by farewatch, or by the connection. */
const RESERVED =
  /^(host|content-.*|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|proxy-.*|webhook-.*|user-agent)$/

function headersFault(
  format: EndpointFormat,
  headers: Readonly<Record<string, string>>,
): string | undefined {
  if (format === 'email') return 'is not for email'
  const names = Object.keys(headers).map((name) => name.toLowerCase())
  const reserved = names.find((name) => RESERVED.test(name))
  if (reserved !== undefined) return `must not have ${reserved}, which farewatch sets`
  return new Set(names).size < names.length ? 'must name each header once' : undefined
}

const STEP_MS = { '15m': 15 * 60_000, '1h': 60 * 60_000 }
const DAY_MS = 86_400_000

/** What is wrong with a time zone; undefined if it is valid. */
export function zoneFault(zone: string): string | undefined {
  const fault = 'zone must be an IANA time zone such as "Europe/Madrid"'
  // An offset such as "+02:00" would be accepted too, but it does not follow daylight saving.
  if (!/^[A-Za-z]/.test(zone)) return fault
  try {
    zoneOffsetMs(zone, 0)
    return undefined
  } catch {
    return fault
  }
}

/**
 * When a record that is ready now is due: at the next time of the digest, or now if there is none.
 *
 * A daily hour that the clocks skip is read by the offset before, so it is due an hour later by the clock. Of two equal
 * hours it is the later one. Each day has one time.
 */
export function nextDigestAt(digest: Digest | null, now: Date): Date {
  if (digest === null) return now
  const after = now.getTime()
  if (digest.type === 'interval') {
    const step = STEP_MS[digest.every]
    return new Date((Math.floor(after / step) + 1) * step)
  }
  const { hour, zone } = digest
  const localDay = Math.floor((after + zoneOffsetMs(zone, after)) / DAY_MS)
  const times = [0, 1, 2].map((days) =>
    instantOfLocal(zone, (localDay + days) * DAY_MS + hour * 3_600_000),
  )
  return new Date(times.find((time) => time > after) ?? after + DAY_MS)
}

function quietFault(format: EndpointFormat, { from, to, zone }: QuietHours): string | undefined {
  if (!JOINS.has(format)) return ONLY_JOINED
  return zoneFault(zone) ?? (from === to ? 'must not begin and end at the same hour' : undefined)
}

/** When an endpoint is sent what is ready now. */
export interface SendTimes {
  readonly digest: Digest | null
  readonly quietHours: QuietHours | null
}

/** At the next time of the digest, and not before the end of the quiet hours. */
export function nextSendAt({ digest, quietHours }: SendTimes, now: Date): Date {
  const at = nextDigestAt(digest, now)
  if (quietHours === null) return at
  const { from, to, zone } = quietHours
  const end = nextDigestAt({ type: 'daily', hour: to, zone }, at)
  // In quiet hours, their end comes before their next beginning.
  return end < nextDigestAt({ type: 'daily', hour: from, zone }, at) ? end : at
}

/** What the operator allows as targets of endpoints. */
export interface TargetRules {
  readonly urls: TargetPolicy
  readonly chatHosts: ChatHosts
  readonly email: EmailRules
}

/** The formats that join several records in one message. */
const JOINS: ReadonlySet<EndpointFormat> = new Set([...CHAT_FORMATS, 'email'])
const ONLY_JOINED = `is for ${[...JOINS].join(', ')} only`

export interface GivenTarget {
  readonly format: EndpointFormat
  /** The URL or the e-mail address; undefined: it stays as it is. */
  readonly target?: string | undefined
  /** Null: each record is sent at once. */
  readonly digest: Digest | null
}

/** What is wrong with where and when an endpoint receives, with the name of the field; undefined if it is valid. */
export function targetFault(
  { format, target, digest }: GivenTarget,
  rules: TargetRules,
): { readonly field: 'target' | 'digest'; readonly fault: string } | undefined {
  const fault = target === undefined ? undefined : addressFault({ format, target }, rules)
  if (fault !== undefined) return { field: 'target', fault }
  if (digest === null) return undefined
  if (!JOINS.has(format)) return { field: 'digest', fault: ONLY_JOINED }
  const wrong = digest.type === 'daily' ? zoneFault(digest.zone) : undefined
  return wrong === undefined ? undefined : { field: 'digest', fault: wrong }
}

function addressFault(
  { format, target }: ShowableTarget,
  { urls, chatHosts, email }: TargetRules,
): string | undefined {
  if (format === 'email') return emailFault(target, email)
  const fault = urlFault(target, urls)
  if (fault !== undefined || format === 'webhook' || format === 'json') return fault
  return chatUrlFault(CHATS[format], target, chatHosts[format])
}

type ShowableTarget = Parameters<typeof hashOfTarget>[0]

/**
 * All that may be printed of a target, because the path of a URL often holds a token: its host and last four
 * characters, or the domain and the first character of an e-mail address.
 */
export function shownTarget({ format, target }: ShowableTarget): string {
  if (format === 'email') return shownEmail(target)
  const { origin, host, pathname, search } = new URL(target)
  const path = `${pathname}${search}`
  // A short path has no characters to spare.
  return `${origin.startsWith('https:') ? '' : 'http://'}${host}/…${path.length > 12 ? path.slice(-4) : ''}`
}

/** What identifies a target, and what may be printed of it. */
export interface Place {
  readonly hash: Buffer
  readonly shown: string
}

export function placeOf(given: ShowableTarget): Place {
  return { hash: hashOfTarget(given), shown: shownTarget(given) }
}

/** How many endpoints a reseller may have. */
export const MAX_ENDPOINTS = 20

export class TooManyEndpointsError extends AppError {
  override readonly name = 'TooManyEndpointsError'
  override readonly code = 'quota.endpoints'

  constructor() {
    super(`a reseller may have ${MAX_ENDPOINTS} endpoints: delete or change one of them`)
  }
}

/** How many secrets of an endpoint sign in addition to the present one. */
export const MAX_PREVIOUS_SECRETS = 3

/** A further rotation would end the 24 hours of a former secret early. */
export class TooManyRotationsError extends AppError {
  override readonly name = 'TooManyRotationsError'
  override readonly code = 'quota.secret_rotations'

  /** @param until when the oldest of the former secrets stops signing. */
  constructor(until: Date) {
    super(
      `${MAX_PREVIOUS_SECRETS} former secrets of the endpoint still sign: rotate again after ${until.toISOString()}`,
    )
  }
}

/** A disabled endpoint receives nothing, so a test event would wait. */
export class EndpointDisabledError extends AppError {
  override readonly name = 'EndpointDisabledError'
  override readonly code = 'delivery.endpoint_disabled'

  constructor(reason: DisabledReason) {
    super(
      reason === 'not_allowed'
        ? 'the endpoint is disabled, because the operator does not allow its e-mail address'
        : 'the endpoint is disabled: enable it first',
    )
  }
}

export class TooManyTestsError extends AppError {
  override readonly name = 'TooManyTestsError'
  override readonly code = 'quota.tests'
  override readonly retryable = true
  readonly retryAfterMs: number

  constructor(retryAfterMs: number) {
    super(
      `a target is sent ${TEST_LIMIT.atMost} tests and examples an hour at most, half of them at once, over all endpoints`,
    )
    this.retryAfterMs = Math.max(0, retryAfterMs)
  }
}

/** Only webhooks are signed. */
export class UnsignedFormatError extends AppError {
  override readonly name = 'UnsignedFormatError'
  override readonly code = 'delivery.unsigned_format'

  constructor(format: string) {
    super(`an endpoint of the format ${format} has no secret: only webhooks are signed`)
  }
}
