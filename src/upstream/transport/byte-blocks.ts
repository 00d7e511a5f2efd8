const FIRST_BLOCK_BYTES = 2_048
const BLOCK_BYTES = 1_048_576
const EMPTY = new Uint8Array(0)

/**
 * Gathers a body into blocks that double up to a mebibyte, by copying.
 *
 * The chunks of a socket are views that keep all of its read buffer alive, and a sender decides how small they
 * are: a body in chunks of one byte would cost a hundred times its size. Blocks cost the body and one block.
 */
export class ByteBlocks {
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
      if (this.#used === this.#block.length) this.#next(chunk.length - from)
      const part = chunk.subarray(from, from + this.#block.length - this.#used)
      this.#block.set(part, this.#used)
      this.#used += part.length
      from += part.length
    }
    this.#bytes += chunk.length
  }

  /** Everything that was added, in order. */
  chunks(): Uint8Array[] {
    const open = this.#block.subarray(0, this.#used)
    return open.length === 0 ? [...this.#full] : [...this.#full, open]
  }

  #next(wanted: number): void {
    if (this.#used > 0) this.#full.push(this.#block)
    const size = Math.min(BLOCK_BYTES, Math.max(FIRST_BLOCK_BYTES, this.#bytes, wanted))
    // Small ones come out of Node's pool: an answer of verify fits into a quarter of its 8 KB.
    this.#block = Buffer.allocUnsafe(size)
    this.#used = 0
  }
}
