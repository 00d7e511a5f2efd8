import { gunzipSync } from 'node:zlib'

/** An output of the program, and where it was found. */
export interface Finding {
  readonly where: string
  readonly content: string | Uint8Array
}

/** Only letters and digits, which no escaping changes. Every quotation of the secret contains it. */
const CORE = 'CANARYhq7Zk2xW9'

/** A credential that contains the core and every character that an encoding may spell differently. */
export const SEARCHED_SECRET = `${CORE}/+= &"'%<\\日本`

/**
 * Finds the core of the searched secret: raw (also if the rest is percent-encoded, escaped or cut off); in base64 and
 * base64url at each of the three offsets; in hexadecimal, as Postgres prints bytes; and in gzip.
 *
 * It does not use the program's own scrubber, which it tests.
 */
export function findSecret(findings: readonly Finding[]): string[] {
  return findings.flatMap(({ where, content }) => {
    const texts = typeof content === 'string' ? [content] : textsOf(Buffer.from(content))
    return Object.entries(NEEDLES)
      .filter(([, needle]) => texts.some((text) => text.includes(needle)))
      .map(([spelling]) => `${where}: ${spelling}`)
  })
}

const hex = Buffer.from(CORE).toString('hex')

const NEEDLES: Readonly<Record<string, string>> = {
  raw: CORE,
  'base64 at 0': inBase64(0),
  'base64 at 1': inBase64(1),
  'base64 at 2': inBase64(2),
  hexadecimal: hex,
  'upper hexadecimal': hex.toUpperCase(),
}

/** The characters that hold bits of the core alone; the alphabets of base64 and base64url agree about them. */
function inBase64(offset: number): string {
  const text = Buffer.concat([Buffer.alloc(offset), Buffer.from(CORE)]).toString('base64')
  const from = Math.ceil((offset * 8) / 6)
  const to = Math.floor(((offset + CORE.length) * 8) / 6)
  const needle = text.slice(from, to)
  if (/[+/]/.test(needle))
    throw new Error('the core is spelled in two ways in base64: choose another')
  return needle
}

function textsOf(bytes: Buffer): string[] {
  const plain = bytes.toString('latin1')
  try {
    return [plain, gunzipSync(bytes).toString('latin1')]
  } catch {
    return [plain]
  }
}
