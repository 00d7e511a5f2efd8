import { createLogger } from '../../src/platform/base/logger.ts'

export const silentLog = createLogger({
  level: 'silent',
  scrub: (text) => text,
  destination: { write: () => undefined },
})
