export type Semaphore = <T>(work: () => Promise<T>) => Promise<T>

/** Runs at most `width` pieces of work at a time. The others wait in the order of their arrival. */
export function createSemaphore(width: number): Semaphore {
  const waiting: (() => void)[] = []
  let free = width
  return async (work) => {
    if (free > 0) free -= 1
    else await new Promise<void>((resume) => waiting.push(resume))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }
}
