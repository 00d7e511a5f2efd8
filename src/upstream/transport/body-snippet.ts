import type { Scrub } from '../../base/secrets.ts'
import { cleanText } from '../../base/text.ts'

/** How much of a body is read to make a snippet of it. */
export const SNIPPET_SOURCE_BYTES = 16_384
const SNIPPET_CHARS = 160

/** Whatever stands behind the parameter's name, for spellings that no scrubber knows, such as encoded twice. */
const NAMED_TOKEN = /(access_?token\W{1,8})[^\s"'&<>\\]+/gi
/** Nothing in it to hide or to clean, but for a secret itself. */
const PLAIN = /^\w*$/
const ADDRESS = /https?:\/\/[^\s"'<>\\]+/gi

/** Hides what stands behind the token's own parameter name, however it is spelled. */
export function maskNamedTokens(text: string): string {
  return text.replace(NAMED_TOKEN, '$1[redacted]')
}

/** Text that an upstream sent us, fit for a message: no secrets, addresses, control characters or length. */
export function quotable(text: string, scrub: Scrub, maxChars = SNIPPET_CHARS): string {
  if (PLAIN.test(text) && text.length <= maxChars) return scrub(text)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach a terminal
  const flat = scrub(text).replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ')
  const masked = maskNamedTokens(flat).replace(ADDRESS, '[address]')
  return cleanText(masked.trim(), maxChars)
}

export interface BodyBeginning {
  readonly chunks: readonly Uint8Array[]
  /** Whether this is the whole body. */
  readonly complete: boolean
}

/**
 * The beginning of a body for an error message; undefined when it cannot be shown safely.
 *
 * A secret that the cut goes through is not recognised by the scrubber, so the end of a cut text is never
 * shown: what is shown stands far from the cut, and a text that shrank so much that it might not is withheld.
 */
export function snippetOf(beginning: BodyBeginning, scrub: Scrub): string | undefined {
  const bytes = Buffer.concat(beginning.chunks).subarray(0, SNIPPET_SOURCE_BYTES)
  const whole = beginning.complete && bytes.length < SNIPPET_SOURCE_BYTES
  const text = quotable(bytes.toString('utf8'), scrub, SNIPPET_SOURCE_BYTES)
  if (!whole && text.length < SNIPPET_SOURCE_BYTES / 4) return undefined
  return cleanText(text, SNIPPET_CHARS) || undefined
}
