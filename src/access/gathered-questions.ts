import { setTimeout as delay } from 'node:timers/promises'

export interface GatheredQuestions<T> {
  /** What the next question finds out of a key; undefined where that is nothing. */
  find(key: string): Promise<T | undefined>
}

export interface GatheredQuestionsOptions<T> {
  readonly ask: (keys: readonly string[]) => Promise<ReadonlyMap<string, T>>
  /** From the beginning of one question to that of the next, at least. */
  readonly everyMs: number
}

/**
 * Puts what is to be found out at one time into one question, and no more than so many in a second: however many keys
 * somebody makes up, the store is asked as often. The first after a pause is asked about at once. Nobody is refused,
 * and who waits, waits for `everyMs` and the answer.
 */
export function createGatheredQuestions<T>(
  options: GatheredQuestionsOptions<T>,
): GatheredQuestions<T> {
  const { ask, everyMs } = options
  let pause: Promise<unknown> = Promise.resolve()
  let keys = new Set<string>()
  let next: Promise<ReadonlyMap<string, T>> | undefined

  const askNext = async () => {
    await pause
    pause = delay(everyMs)
    const asked = [...keys]
    keys = new Set()
    next = undefined
    return ask(asked)
  }
  return {
    find: async (key) => {
      keys.add(key)
      next ??= askNext()
      return (await next).get(key)
    },
  }
}
