/** The work outlived its deadline. It may still end later: whatever it writes must be safe to write twice. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError'

  constructor(ms: number) {
    super(`no answer within ${ms} ms`)
  }
}

/** Resolves or rejects as the work does, or rejects with DeadlineError after `ms`. */
export async function withDeadline<T>(work: Promise<T>, ms: number): Promise<T> {
  const { promise: expired, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new DeadlineError(ms)), ms)
  // What loses the race may still reject: nobody listens then.
  work.catch(() => undefined)
  try {
    return await Promise.race([work, expired])
  } finally {
    clearTimeout(timer)
  }
}

/** Whether the work ended, well or badly, within `ms`. Never rejects. */
export async function settlesWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  try {
    await withDeadline(work, Math.max(0, ms))
    return true
  } catch (err) {
    return !(err instanceof DeadlineError)
  }
}
