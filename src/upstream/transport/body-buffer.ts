import { createGunzip } from 'node:zlib'

/** How a body is encoded. We accept gzip or no encoding. Any other encoding cannot be read. */
export type ContentCoding = 'identity' | 'gzip' | 'unknown'

export function codingOf(contentEncoding = 'identity'): ContentCoding {
  const name = contentEncoding.trim().toLowerCase()
  if (name === 'gzip' || name === 'x-gzip') return 'gzip'
  return name === 'identity' || name === '' ? 'identity' : 'unknown'
}

/** Decodes a body as it arrives. */
export interface BodyDecoder {
  /** Returns false if the caller must wait for `onDrain` before the next write. */
  write(chunk: Uint8Array): boolean
  /** Marks the end of the encoded body. `onEnd` follows when all of it is decoded. */
  end(): void
  /** Stops decoding. No event follows. */
  destroy(): void
}

interface DecoderEvents {
  /** The chunk is valid only during the call. */
  onData(chunk: Uint8Array): void
  onDrain(): void
  onEnd(): void
  /** The body is not valid in its encoding. */
  onError(error: Error): void
}

/** zlib's default of 16 KB needs ten thousand round trips to its thread for a large list. */
const GUNZIP_OPTIONS = { chunkSize: 262_144 }

export function createBodyDecoder(
  coding: 'identity' | 'gzip',
  { onData, onDrain, onEnd, onError }: DecoderEvents,
): BodyDecoder {
  if (coding === 'identity') {
    return {
      write: (chunk) => {
        onData(chunk)
        return true
      },
      end: onEnd,
      destroy: () => undefined,
    }
  }
  const gunzip = createGunzip(GUNZIP_OPTIONS)
  gunzip.on('data', onData).on('drain', onDrain).on('end', onEnd).on('error', onError)
  return {
    write: (chunk) => gunzip.write(chunk),
    end: () => void gunzip.end(),
    destroy: () => {
      gunzip.removeAllListeners('data').removeAllListeners('end')
      gunzip.destroy()
    },
  }
}

const FIRST_BLOCK_BYTES = 2_048
const MAX_BLOCK_BYTES = 1_048_576
const EMPTY = new Uint8Array(0)

/**
 * Collects a body in blocks that double in size up to 1 MiB, by copying.
 *
 * A socket's chunks are views that keep its whole read buffer alive, and the sender decides how small they are: a body
 * in chunks of one byte would cost a hundred times its size. Blocks cost at most the body plus one block.
 */
export class BodyBuffer {
  readonly #full: Uint8Array[] = []
  #block: Uint8Array = EMPTY
  #used = 0
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  add(chunk: Uint8Array): void {
    let from = 0
    while (from < chunk.length) {
      if (this.#used === this.#block.length) this.#startBlock(chunk.length - from)
      const part = chunk.subarray(from, from + this.#block.length - this.#used)
      this.#block.set(part, this.#used)
      this.#used += part.length
      from += part.length
    }
    this.#bytes += chunk.length
  }

  /** All added bytes, in order. */
  chunks(): Uint8Array[] {
    const open = this.#block.subarray(0, this.#used)
    return open.length === 0 ? [...this.#full] : [...this.#full, open]
  }

  #startBlock(wanted: number): void {
    if (this.#used > 0) this.#full.push(this.#block)
    const size = Math.min(MAX_BLOCK_BYTES, Math.max(FIRST_BLOCK_BYTES, this.#bytes, wanted))
    // Small blocks come from Node's pool: a verify answer fits into a quarter of its 8 KB.
    this.#block = Buffer.allocUnsafe(size)
    this.#used = 0
  }
}
