import type { Readable } from 'node:stream'
import { MIN_SECRET_CHARS, type Scrub } from '../../platform/base/secrets.ts'
import { cleanText, percentDecoded } from '../../platform/base/text.ts'
import { MAX_URL_CHARS } from './target-policy.ts'

const MAX_READ_BYTES = 65_536
const MAX_KEPT_CHARS = 1_024
/** The status decides the result, so the body is not worth a longer wait. */
const BODY_WAIT_MS = 1_000

/** Where a POST goes, and which secrets the answer must not repeat. */
export interface PostTarget {
  readonly address: string
  readonly secrets: readonly string[]
}

interface Received {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Readable
}

/**
 * The first kilobyte of an answer as text without secrets. Reads at most 64 KB, for at most a second; if the body is
 * longer or breaks off, the connection is dropped. We request no encoding, so an encoded body is not shown.
 */
export async function readAnswer(
  { headers, body }: Received,
  { scrub, secrets }: { readonly scrub: Scrub; readonly secrets: readonly string[] },
): Promise<string> {
  const { text, whole } = await readBeginning(body)
  if (headers['content-encoding'] !== undefined) return ''
  const masked = maskAll(scrub(text), secrets)
  // A cut may split a secret, and half of it would not be recognized: the end of a cut text is never shown.
  const shown = whole ? masked : masked.slice(0, -MAX_URL_CHARS)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not reach a terminal
  const flat = shown.replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ').trim()
  return cleanText(flat, MAX_KEPT_CHARS)
}

async function readBeginning(body: Readable): Promise<{ text: string; whole: boolean }> {
  const chunks: Buffer[] = []
  let bytes = 0
  const timer = setTimeout(() => body.destroy(), BODY_WAIT_MS)
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > MAX_READ_BYTES) break
    }
  } catch {
    bytes = Number.POSITIVE_INFINITY
  } finally {
    clearTimeout(timer)
  }
  const text = Buffer.concat(chunks).subarray(0, MAX_READ_BYTES).toString('utf8')
  return { text, whole: bytes <= MAX_READ_BYTES }
}

/**
 * What an answer must not repeat of a target: its signing secrets, and the parts of its URL behind the host, which
 * often hold a token. Shorter parts would mask ordinary words.
 */
export function secretsOfTarget({ address, secrets }: PostTarget): string[] {
  const url = URL.parse(address)
  if (url === null) return [address, ...secrets]
  const { pathname, search, searchParams } = url
  const query = search.slice(1)
  const pairs = query.split('&')
  const values = pairs.map((pair) => pair.slice(pair.indexOf('=') + 1))
  // Pages of errors escape the query for HTML or JSON.
  const escaped = ['&amp;', '\\u0026'].map((separator) => query.replaceAll('&', separator))
  const whole = [pathname + search, pathname, query, ...escaped]
  const raw = [...whole, ...pathname.split('/'), ...pairs, ...values]
  const decoded = [...raw.map(percentDecoded), ...searchParams.values()]
  const keys = secrets.map((secret) => secret.replace(/^whsec_/, ''))
  return [...new Set([...raw, ...decoded, ...keys])].filter(
    (part) => part.length >= MIN_SECRET_CHARS,
  )
}

/**
 * Masks the given texts literally. The encodings that `createScrub` finds cost 12 ms and a megabyte for each target, and
 * only the reseller that owns the target and operators read its answers.
 */
function maskAll(text: string, secrets: readonly string[]): string {
  if (text.length < MIN_SECRET_CHARS || secrets.length === 0) return text
  const longestFirst = secrets.toSorted((a, b) => b.length - a.length)
  return text.replace(new RegExp(longestFirst.map(RegExp.escape).join('|'), 'gi'), '[redacted]')
}
