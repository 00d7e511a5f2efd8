export type Semaphore = <T>(work: () => Promise<T>) => Promise<T>

/** Lets at most `width` pieces of work run at a time; the others wait, first come first served. */
export function createSemaphore(width: number): Semaphore {
  const waiting: (() => void)[] = []
  let free = width
  return async (work) => {
    if (free > 0) free -= 1
    else await new Promise<void>((go) => waiting.push(go))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }
}
