import { shownEmail } from '../../platform/base/email-address.ts'
import type { EndpointFormat } from '../../platform/base/kinds.ts'
import { type Digest, digestFault } from '../formats/digest.ts'
import { type EmailRules, emailFault } from '../formats/email.ts'
import { slackUrlFault } from '../formats/slack.ts'
import { type TargetPolicy, urlFault } from '../send/target-policy.ts'

/** What the operator allows as targets of endpoints. */
export interface TargetRules {
  readonly urls: TargetPolicy
  readonly slackHosts: readonly string[]
  readonly email: EmailRules
}

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
  const wrong = format === 'webhook' ? 'is for slack and email only' : digestFault(digest)
  return wrong === undefined ? undefined : { field: 'digest', fault: wrong }
}

function addressFault(
  { format, target }: ShowableTarget,
  { urls, slackHosts, email }: TargetRules,
): string | undefined {
  if (format === 'email') return emailFault(target, email)
  const fault = urlFault(target, urls)
  return fault ?? (format === 'slack' ? slackUrlFault(target, slackHosts) : undefined)
}

interface ShowableTarget {
  readonly format: EndpointFormat
  readonly target: string
}

/**
 * All that may be printed of a target, because the path of a URL often holds a token: its host and last four characters, or
 * the domain and the first character of an e-mail address.
 */
export function shownTarget({ format, target }: ShowableTarget): string {
  if (format === 'email') return shownEmail(target)
  const { origin, host, pathname, search } = new URL(target)
  const path = `${pathname}${search}`
  // A short path has no characters to spare.
  return `${origin.startsWith('https:') ? '' : 'http://'}${host}/…${path.length > 12 ? path.slice(-4) : ''}`
}
