const NUL = /\0/g

/**
 * Makes text from outside fit for Postgres, JSON and a terminal line.
 *
 * Postgres refuses NUL in text and jsonb, and a lone surrogate in jsonb: one of them in an error message
 * would break the queue job that reports it.
 * @param maxChars longer text is cut, with an ellipsis as its last character.
 */
export function cleanText(text: string, maxChars = 500): string {
  const clean = text.replace(NUL, '').toWellFormed()
  if (clean.length <= maxChars) return clean
  return `${clean.slice(0, maxChars - 1).toWellFormed()}…`
}

/** A part of a URL, decoded. Text with a malformed percent escape is returned unchanged. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const QUOTED_CHARS = 60
/** Characters that JSON does not escape although a terminal acts on them: C1 controls, separators, changes of direction. */
const INVISIBLE = /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** Quotes text from outside for a message: it is cut to 60 characters, and everything that a terminal acts on is escaped. */
export function quote(text: string): string {
  const shown = text.length > QUOTED_CHARS ? `${text.slice(0, QUOTED_CHARS)}…` : text
  return JSON.stringify(shown).replace(
    INVISIBLE,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

const MAX_NAME_CHARS = 200
/** HTTP clients resolve these path segments before they send an address, also when they are percent-encoded. */
const PATH_STEPS = new Set(['.', '..'])

/**
 * What is wrong with the name of a reseller, a watch list or a watch; undefined if it is valid.
 *
 * Names are stored exactly as given. Cleaning them would turn two different names into one, so a name that
 * cannot be seen or typed is refused.
 */
export function nameFault(text: string): string | undefined {
  if (text !== text.trim()) return 'must not begin or end with white space'
  if (PATH_STEPS.has(text)) return 'must not be "." or "..", which an address cannot end in'
  return textFault(text, MAX_NAME_CHARS)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

/** What is wrong with a required one-line text; undefined if it is valid. */
export function textFault(text: string, maxChars: number): string | undefined {
  if (text === '') return 'must not be empty'
  if (text.includes('\0')) return 'must not hold a NUL character'
  if (!text.isWellFormed()) return 'must not hold half of a surrogate pair'
  if (CONTROL.test(text)) return 'must not hold control characters'
  if (text.length > maxChars) return `must not be longer than ${maxChars} characters`
  return undefined
}
