/** Replaces every known secret in a text, in any of its encodings. */
export type Scrub = (text: string) => string

const MASK = '[redacted]'
/** A shorter secret would mask ordinary words, so the configuration refuses it. */
export const MIN_SECRET_CHARS = 6

const learned = new Set<string>()
let scrubLearned: Scrub = (text) => text

/** Masks a secret that the process learns after its start, in all that it scrubs from now on. */
export function learnSecret(secret: string): void {
  learned.add(secret)
  scrubLearned = scrubOf([...learned])
}

/** Builds the function that scrubs all text that leaves the process, also of secrets that it learns later. */
export function createScrub(secrets: readonly string[]): Scrub {
  const scrub = scrubOf(secrets)
  return (text) => scrubLearned(scrub(text))
}

/**
 * Builds the function that masks these secrets.
 *
 * It finds each secret raw, percent-encoded (any number of times, in either hex case), form-encoded, JSON-escaped and
 * HTML-escaped, character by character; and in base64 and base64url, alone or at any of the three offsets inside a
 * longer encoded text.
 */
function scrubOf(secrets: readonly string[]): Scrub {
  const known = [...new Set(secrets)].filter((secret) => secret !== '')
  if (known.length === 0) return (text) => text
  // Longest first: one secret may be a prefix of another.
  known.sort((a, b) => b.length - a.length)
  const pattern = new RegExp(known.flatMap(spellingsOf).join('|'), 'g')
  // No encoding is shorter than the secret itself or than the shortest accepted part of its base64.
  const shortest = Math.min(MIN_SECRET_CHARS, ...known.map((secret) => secret.length))
  return (text) => (text.length < shortest ? text : text.replace(pattern, MASK))
}

function spellingsOf(secret: string): string[] {
  const encoded = encodeURIComponent(secret.toWellFormed())
  const inBase64 = [...new Set([secret, encoded])].flatMap(base64Cores)
  // Each escaping doubles a run of backslashes as a whole.
  const raw = secret.match(/\\+|[^\\]/gu) ?? []
  return [raw.map(charPattern).join(''), ...inBase64.map(base64Pattern)]
}

/** The base64 characters that depend on this secret alone, at each of the three offsets. */
function base64Cores(secret: string): string[] {
  return [0, 1, 2]
    .map((offset) => {
      const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)])
      // The first and the last character also depend on the neighbouring text.
      const from = Math.ceil((offset * 8) / 6)
      const to = Math.floor((bytes.length * 8) / 6)
      return bytes.toString('base64').slice(from, to)
    })
    .filter((core) => core.length >= MIN_SECRET_CHARS)
}

/** Letters and digits of base64 are never escaped. The two other characters have a second form in base64url. */
function base64Pattern(core: string): string {
  const other = { '+': `(?:-|${charPattern('+')})`, '/': `(?:_|${charPattern('/')})` }
  return core.replace(/[+/]/g, (char) => other[char as '+' | '/'])
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': 'amp',
  '"': 'quot',
  "'": 'apos',
  '<': 'lt',
  '>': 'gt',
}

/** A pattern of all encodings of one character or of one run of backslashes. */
function charPattern(char: string): string {
  if (char.startsWith('\\')) {
    const { length } = char
    return `(?:(?:${encodings('\\')}){${length}}|\\\\{${length},${8 * length}})`
  }
  const ways = [encodings(char), RegExp.escape(char)]
  // Escaped in a string, and again for every string around it.
  if (/["'/]/.test(char)) ways.push(`\\\\{1,7}${char}`)
  const short = /^"\\([a-z])"$/.exec(JSON.stringify(char))
  if (short !== null) ways.push(`\\\\{1,8}${short[1]}`)
  if (char === ' ') ways.push('\\+', encodings('+'))
  return `(?:${ways.join('|')})`
}

/**
 * One character percent-encoded, as \u and as an HTML entity. The percent sign and the ampersand may be encoded
 * again.
 */
function encodings(char: string): string {
  const percent = [...Buffer.from(char)].map((byte) => `%(?:25)*${hexPattern(byte, 2)}`)
  const unicode = char.split('').map((unit) => `\\\\{1,8}u${hexPattern(unit.charCodeAt(0), 4)}`)
  const code = char.codePointAt(0) ?? 0
  const names = [`#0*${code}`, `#[xX]0*${hexPattern(code, 1)}`, ENTITIES[char] ?? []].flat()
  return `(?:${percent.join('')}|${unicode.join('')}|&(?:amp;)*(?:${names.join('|')});)`
}

/**
 * A number in hexadecimal, in either case. It uses character classes: V8 drops the `i` of `(?i:…)` in a long
 * pattern (Node 24.21).
 */
function hexPattern(code: number, digits: number): string {
  const hex = code.toString(16).padStart(digits, '0')
  return hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)
}
