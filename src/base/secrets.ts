/** Replaces every known secret in a text, whatever way it is spelled. */
export type Scrub = (text: string) => string

const MASK = '[redacted]'
/** Shorter values would mask ordinary words; the configuration refuses such secrets. */
export const MIN_SECRET_CHARS = 6

/**
 * Builds the one function through which everything that leaves the process passes.
 *
 * Character by character each secret is found raw, percent-encoded (as often as somebody did it, either hex
 * case), form-encoded, JSON-escaped and HTML-escaped; and as a whole in base64 and base64url, alone and at the
 * three offsets at which it can stand inside a longer encoded text.
 */
export function createScrub(secrets: readonly string[]): Scrub {
  const known = [...new Set(secrets)].filter((secret) => secret !== '')
  if (known.length === 0) return (text) => text
  // The longest first: a secret may begin with another one.
  known.sort((a, b) => b.length - a.length)
  const pattern = new RegExp(known.flatMap(spellingsOf).join('|'), 'g')
  // No spelling is shorter than the secret itself, or than the shortest core of a base64.
  const shortest = Math.min(MIN_SECRET_CHARS, ...known.map((secret) => secret.length))
  return (text) => (text.length < shortest ? text : text.replace(pattern, MASK))
}

function spellingsOf(secret: string): string[] {
  const encoded = encodeURIComponent(secret.toWellFormed())
  const inBase64 = [...new Set([secret, encoded])].flatMap(base64Cores)
  // A run of backslashes doubles with every escaping, as one.
  const raw = secret.match(/\\+|[^\\]/gu) ?? []
  return [raw.map(charPattern).join(''), ...inBase64.map(base64Pattern)]
}

/** The characters of the base64 that hold bits of this secret alone, at each of the three offsets. */
function base64Cores(secret: string): string[] {
  return [0, 1, 2]
    .map((offset) => {
      const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)])
      // The first and last characters also hold bits of the neighbours.
      const from = Math.ceil((offset * 8) / 6)
      const to = Math.floor((bytes.length * 8) / 6)
      return bytes.toString('base64').slice(from, to)
    })
    .filter((core) => core.length >= MIN_SECRET_CHARS)
}

/** Letters and digits of base64 are never escaped; the two other characters have a second form in base64url. */
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

/** All ways to write one character, or one run of backslashes. */
function charPattern(char: string): string {
  if (char.startsWith('\\')) {
    const { length } = char
    return `(?:(?:${encodings('\\')}){${length}}|\\\\{${length},${8 * length}})`
  }
  const ways = [encodings(char), RegExp.escape(char)]
  // Escaped in a string, and again where that string is quoted in another.
  if (/["'/]/.test(char)) ways.push(`\\\\{1,7}${char}`)
  const short = /^"\\([a-z])"$/.exec(JSON.stringify(char))
  if (short !== null) ways.push(`\\\\{1,8}${short[1]}`)
  if (char === ' ') ways.push('\\+', encodings('+'))
  return `(?:${ways.join('|')})`
}

/** One character in percent, as \u and as an HTML entity; the percent sign and the ampersand encoded again or not. */
function encodings(char: string): string {
  const percent = [...Buffer.from(char)].map((byte) => `%(?:25)*${hexPattern(byte, 2)}`)
  const unicode = char.split('').map((unit) => `\\\\{1,8}u${hexPattern(unit.charCodeAt(0), 4)}`)
  const code = char.codePointAt(0) ?? 0
  const names = [`#0*${code}`, `#[xX]0*${hexPattern(code, 1)}`, ENTITIES[char] ?? []].flat()
  return `(?:${percent.join('')}|${unicode.join('')}|&(?:amp;)*(?:${names.join('|')});)`
}

/** Hexadecimal in either case. By classes: inside a long pattern V8 loses the `i` of `(?i:…)` (Node 24.21). */
function hexPattern(code: number, digits: number): string {
  const hex = code.toString(16).padStart(digits, '0')
  return hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)
}
