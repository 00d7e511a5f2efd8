import type { Scrub } from '../../platform/base/secrets.ts'
import { cleanText } from '../../platform/base/text.ts'

/** How many bytes of a body are read to make a snippet. */
export const SNIPPET_SOURCE_BYTES = 16_384
const SNIPPET_CHARS = 160

/**
 * Matches the value after the parameter's name. It finds spellings that the scrubber does not, such as double
 * encoding.
 */
const NAMED_TOKEN = /(access_?token\W{1,8})[^\s"'&<>\\]+/gi
/** Such a text needs no masking or cleaning, only the scrubbing of known secrets. */
const PLAIN = /^\w*$/
const ADDRESS = /https?:\/\/[^\s"'<>\\]+/gi

/** Masks what follows the token's own parameter name, in any spelling. */
export function maskNamedTokens(text: string): string {
  return text.replace(NAMED_TOKEN, '$1[redacted]')
}

/** Makes a text of the upstream safe to quote: no secrets, no addresses, no control characters, limited length. */
export function quotable(text: string, scrub: Scrub, maxChars = SNIPPET_CHARS): string {
  if (PLAIN.test(text) && text.length <= maxChars) return scrub(text)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not reach a terminal
  const flat = scrub(text).replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ')
  const masked = maskNamedTokens(flat).replace(ADDRESS, '[address]')
  return cleanText(masked.trim(), maxChars)
}

export interface BodyBeginning {
  readonly chunks: readonly Uint8Array[]
  /** Whether `chunks` holds the whole body. */
  readonly complete: boolean
}

/**
 * The beginning of a body for an error message. Undefined if it cannot be shown safely.
 *
 * The scrubber does not recognize a secret that the cut splits, so the end of a cut text is never shown. If scrubbing
 * shrinks a cut text so much that the end could be shown, the snippet is withheld.
 */
export function snippetOf(beginning: BodyBeginning, scrub: Scrub): string | undefined {
  const bytes = Buffer.concat(beginning.chunks).subarray(0, SNIPPET_SOURCE_BYTES)
  const whole = beginning.complete && bytes.length < SNIPPET_SOURCE_BYTES
  const text = quotable(bytes.toString('utf8'), scrub, SNIPPET_SOURCE_BYTES)
  if (!whole && text.length < SNIPPET_SOURCE_BYTES / 4) return undefined
  return cleanText(text, SNIPPET_CHARS) || undefined
}
