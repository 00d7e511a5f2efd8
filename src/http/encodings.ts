export type Encoding = 'br' | 'gzip' | 'identity'

/** What we send, the best first. */
export const ENCODINGS = ['br', 'gzip'] as const satisfies readonly Encoding[]
/** Smaller answers are not worth the work. */
export const COMPRESS_FROM_BYTES = 1_024

/**
 * The encoding for a client, by its Accept-Encoding: what it likes best, and of equals the smallest. None where the
 * header is missing, or takes nothing that we have.
 * @example encodingFor('gzip, br;q=0.5') // 'gzip'
 */
export function encodingFor(header: string | undefined): Encoding {
  if (header === undefined) return 'identity'
  const qualities = new Map(header.toLowerCase().split(',').map(readQuality))
  const qualityOf = (encoding: Encoding) => qualities.get(encoding) ?? qualities.get('*') ?? 0
  const [first, ...others] = ENCODINGS
  const best = others.reduce<Encoding>(
    (found, next) => (qualityOf(next) > qualityOf(found) ? next : found),
    first,
  )
  const plain = qualities.get('identity') ?? 0
  return qualityOf(best) > 0 && qualityOf(best) >= plain ? best : 'identity'
}

/** A coding and its weight, 1 where none is given; one that cannot be read counts for nothing. */
function readQuality(part: string): [string, number] {
  const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  const quality = weight === undefined ? 1 : Number(weight.slice('q='.length))
  return [name, quality >= 0 && quality <= 1 ? quality : 0]
}
