const NUL = /\0/g

/**
 * Makes text from outside safe for Postgres, JSON and a terminal line.
 *
 * Postgres refuses NUL in text and jsonb, and a lone surrogate in jsonb. Either of them in an error message would break
 * the queue job that reports the error.
 * @param maxChars longer text is cut, and the last character becomes an ellipsis.
 */
export function cleanText(text: string, maxChars = 500): string {
  const clean = text.replace(NUL, '').toWellFormed()
  if (clean.length <= maxChars) return clean
  return `${clean.slice(0, maxChars - 1).toWellFormed()}…`
}

/** The entries of a list in one line. Commas or spaces stand between them. */
export function splitList(text: string): string[] {
  return text.split(/[\s,]+/).filter((entry) => entry !== '')
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
/**
 * Characters that JSON does not escape although a terminal acts on them: C1 controls, separators, changes of
 * direction.
 */
const INVISIBLE = /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/**
 * Quotes text from outside for a message: it is cut to 60 characters, and everything that a terminal acts on is
 * escaped.
 */
export function quote(text: string): string {
  const shown = text.length > QUOTED_CHARS ? `${text.slice(0, QUOTED_CHARS)}…` : text
  return JSON.stringify(shown).replace(INVISIBLE, escapeCharacter)
}

/** @example escapeCharacter('\x1b') // '\\u001b' */
export function escapeCharacter(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}

const MAX_NAME_CHARS = 200
/** Characters that leave nothing to see. */
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Z}\u2800]/gu
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
  if (text !== '' && text.replace(UNSEEN, '') === '')
    return 'must hold a character that can be seen'
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

/** Characters that are not seen or that act: controls, format characters such as changes of direction, private ones. */
const ACTING = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]+/gu
/** Marks on one letter beyond the third, which would cover the lines above. */
const STACKED_MARKS = /(\p{M}{3})\p{M}+/gu

/** A text from outside as one line of plain text: what is not seen or acts becomes a space. */
export function plainLine(text: string, maxChars: number): string {
  const clean = text.toWellFormed().replace(ACTING, ' ').replace(STACKED_MARKS, '$1')
  return cleanText(clean.replace(/\s+/g, ' ').trim(), maxChars)
}

const SHOWN_NAME_CHARS = 60
const WRITTEN_FROM_RIGHT =
  /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

/**
 * A name of the upstream in a line for people. Mail and chat programs make links of URLs and domains and mentions
 * of `@`, so these are written with characters that look alike. A name that is written from right to left is
 * isolated from its surroundings.
 */
export function nameText(name: string): string {
  const plain = plainLine(name, SHOWN_NAME_CHARS)
    .replaceAll('://', ' ')
    .replaceAll('@', '\uff20')
    .replace(/\.(?=[\p{L}\p{N}])/gu, '\u2024')
  return WRITTEN_FROM_RIGHT.test(plain) ? `\u2068${plain}\u2069` : plain
}

const UNITS = [
  { ms: 86_400_000, letter: 'd' },
  { ms: 3_600_000, letter: 'h' },
  { ms: 60_000, letter: 'min' },
  { ms: 1_000, letter: 's' },
] as const

/**
 * A duration for people: its two largest units. Seconds are left out from one minute on.
 * @example durationText(11_100_000) // '3 h 5 min'
 */
export function durationText(ms: number): string {
  const whole = Math.max(0, Math.round(ms / 1000)) * 1000
  const at = UNITS.findIndex((unit) => whole >= unit.ms)
  const first = UNITS[at]
  if (first === undefined) return '0 s'
  const second = UNITS[at + 1]
  const head = `${Math.floor(whole / first.ms)} ${first.letter}`
  const rest = second === undefined ? 0 : Math.floor((whole % first.ms) / second.ms)
  return second === undefined || rest === 0 || second.letter === 's'
    ? head
    : `${head} ${rest} ${second.letter}`
}

/** Tenths below ten seconds, because a delay may be short. */
export function shortText(seconds: number): string {
  return seconds < 10 ? `${seconds.toFixed(1)} s` : durationText(1000 * seconds)
}

/** @example aheadText(-1_500) // '1.5 s behind'; of 1_500 '1.5 s ahead of' */
export function aheadText(ms: number): string {
  return `${(Math.abs(ms) / 1000).toFixed(1)} s ${ms < 0 ? 'behind' : 'ahead of'}`
}
