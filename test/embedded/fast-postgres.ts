import { createLogger, type Logger } from '../../src/platform/base/logger.ts'

/** Test data need not survive a power cut. */
export const FAST = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off' }

export function quietLogger(): Logger {
  return createLogger({
    level: 'silent',
    scrub: (text) => text,
    destination: { write: () => undefined },
  })
}
