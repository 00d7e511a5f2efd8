/** The work did not end in time. It may still end later, so whatever it writes must be safe to write twice. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError'

  constructor(ms: number) {
    super(`no answer within ${ms} ms`)
  }
}

/** Resolves or rejects as the work does, or rejects with TimeoutError after `ms`. */
export async function withTimeout<T>(work: Promise<T>, ms: number): Promise<T> {
  const { promise: expired, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new TimeoutError(ms)), ms)
  // The work may still reject after the timeout, when nothing awaits it any more.
  work.catch(() => undefined)
  try {
    return await Promise.race([work, expired])
  } finally {
    clearTimeout(timer)
  }
}

/** Whether the work ended, well or badly, within `ms`. Never rejects. */
export async function endsWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  try {
    await withTimeout(work, Math.max(0, ms))
    return true
  } catch (err) {
    return !(err instanceof TimeoutError)
  }
}
