/** What admin endpoints give a store to answer. */
export const CHECK_DEADLINE_MS = 2_000

/** It may still answer later. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError'

  constructor(ms: number) {
    super(`no answer within ${ms} ms`)
  }
}

/** Resolves or rejects as the promise does; rejects with NoAnswerError when it takes longer than the deadline. */
export async function withDeadline<T>(
  promise: Promise<T>,
  ms: number = CHECK_DEADLINE_MS,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new NoAnswerError(ms)), ms)
  })
  try {
    return await Promise.race([promise, deadline])
  } finally {
    clearTimeout(timer)
  }
}
