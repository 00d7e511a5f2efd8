/** A binary heap of ids by key, then by id, in which the key of an id can change. */
export class IndexedHeap {
  readonly #ids: number[] = []
  readonly #keys: number[] = []
  readonly #positions: number[] = []

  get first(): number | undefined {
    return this.#ids[0]
  }

  ids(): readonly number[] {
    return [...this.#ids]
  }

  has(id: number): boolean {
    return (this.#positions[id] ?? -1) >= 0
  }

  keyOf(id: number): number {
    return this.#keys[id] ?? Number.NaN
  }

  /** Adds the id, or moves it to its new key. */
  set(id: number, key: number): void {
    if (!this.has(id)) {
      this.#positions[id] = this.#ids.length
      this.#ids.push(id)
    }
    this.#keys[id] = key
    this.#up(this.#positions[id] ?? 0)
    this.#down(this.#positions[id] ?? 0)
  }

  remove(id: number): void {
    if (!this.has(id)) return
    const at = this.#positions[id] ?? 0
    const last = this.#ids.pop()
    this.#positions[id] = -1
    if (last === undefined || last === id) return
    this.#put(last, at)
    this.#up(at)
    this.#down(this.#positions[last] ?? 0)
  }

  #before(a: number, b: number): boolean {
    const difference = (this.#keys[a] ?? 0) - (this.#keys[b] ?? 0)
    return difference < 0 || (difference === 0 && a < b)
  }

  #put(id: number, at: number): void {
    this.#ids[at] = id
    this.#positions[id] = at
  }

  #up(from: number): void {
    const id = this.#ids[from] ?? 0
    let at = from
    for (; at > 0; ) {
      const parent = (at - 1) >> 1
      const other = this.#ids[parent] ?? 0
      if (!this.#before(id, other)) break
      this.#put(other, at)
      at = parent
    }
    this.#put(id, at)
  }

  #down(from: number): void {
    const id = this.#ids[from] ?? 0
    let at = from
    for (;;) {
      let child = 2 * at + 1
      if (child >= this.#ids.length) break
      const right = this.#ids[child + 1]
      if (right !== undefined && this.#before(right, this.#ids[child] ?? 0)) child += 1
      const other = this.#ids[child] ?? 0
      if (!this.#before(other, id)) break
      this.#put(other, at)
      at = child
    }
    this.#put(id, at)
  }
}
