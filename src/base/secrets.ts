/** Replaces every known secret in a text, whatever way it is spelled. */
export type Scrub = (text: string) => string

const MASK = '[redacted]'
/** Shorter values would mask ordinary words; the configuration refuses such secrets. */
export const MIN_SECRET_CHARS = 6

/**
 * Builds the one function through which everything that leaves the process passes.
 *
 * Covers each secret raw, percent-encoded (both hex cases), JSON-escaped and in base64: alone and at the
 * three offsets at which it can stand inside a longer encoded text.
 */
export function createScrub(secrets: readonly string[]): Scrub {
  const spellings = [...new Set(secrets.filter((s) => s.length > 0).flatMap(spellingsOf))]
  if (spellings.length === 0) return (text) => text
  spellings.sort((a, b) => b.length - a.length)
  const pattern = new RegExp(spellings.map((s) => RegExp.escape(s)).join('|'), 'g')
  return (text) => text.replace(pattern, MASK)
}

function spellingsOf(secret: string): string[] {
  const encoded = encodeURIComponent(secret)
  const form = new URLSearchParams({ s: secret }).toString().slice(2)
  const lower = (text: string) => text.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase())
  const json = JSON.stringify(secret).slice(1, -1)
  return [secret, encoded, lower(encoded), form, lower(form), json, ...base64Spellings(secret)]
}

function base64Spellings(secret: string): string[] {
  const core = [0, 1, 2].map((offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)])
    const text = bytes.toString('base64').replace(/=+$/, '')
    // The first and last characters also hold bits of the neighbours.
    const from = Math.ceil((offset * 8) / 6)
    const to = Math.floor((bytes.length * 8) / 6)
    return text.slice(from, to)
  })
  return core
    .flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')])
    .filter((text) => text.length >= MIN_SECRET_CHARS)
}
