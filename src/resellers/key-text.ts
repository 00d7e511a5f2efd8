import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'

const START = 'fwk_'
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** 62^30: 178 bits, too many to guess. */
const SECRET_CHARS = 30
/** 62^6 is above 2^32. */
const CHECKSUM_CHARS = 6
const KEY = /^fwk_([0-9A-Za-z]{30})([0-9A-Za-z]{6})$/
/** Enough to recognise a key in a list. The other 28 characters cannot be guessed. */
const PREFIX_CHARS = START.length + 8

/**
 * Makes a key: `fwk_`, thirty random letters and digits, and their CRC-32 in six more characters. The start lets a scanner
 * find a published key. The checksum shows a typing error without a query.
 *
 * `randomBelow` returns a uniform whole number from 0 up to, but not including, its argument, of cryptographic quality.
 */
export function newKey(randomBelow: (max: number) => number): string {
  const secret = Array.from({ length: SECRET_CHARS }, () => ALPHABET[randomBelow(ALPHABET.length)])
  const text = secret.join('')
  return `${START}${text}${checksumOf(text)}`
}

/** Whether a text has the form and the checksum of a key. */
export function isWellFormedKey(text: string): boolean {
  const [, secret, checksum] = KEY.exec(text) ?? []
  return secret !== undefined && checksumOf(secret) === checksum
}

/**
 * The stored hash of a key. One round of SHA-256 without a salt is enough, because a key is random. Salts and many
 * rounds protect passwords, which people choose, and would cost time on every request.
 */
export function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

/** The start of a key, as lists show it. */
export function prefixOf(key: string): string {
  return key.slice(0, PREFIX_CHARS)
}

function checksumOf(secret: string): string {
  let rest = crc32(secret)
  let text = ''
  for (let i = 0; i < CHECKSUM_CHARS; i += 1) {
    text = `${ALPHABET[rest % ALPHABET.length]}${text}`
    rest = Math.floor(rest / ALPHABET.length)
  }
  return text
}
