import { expect } from 'vitest'

const begun = new Map<string | undefined, number>()

/**
 * The start of the minute in which the running test file began, in milliseconds. It is the same for the whole file: a
 * test must not cross the start of another. Files share their imports, so a constant of a module would grow old in a long run.
 */
export function fileMinute(): number {
  const file = expect.getState().testPath
  const minute = begun.get(file) ?? Math.floor(Date.now() / 60_000) * 60_000
  begun.set(file, minute)
  return minute
}
