import { createLogger } from '../../src/base/logger.ts'

export const silentLog = createLogger({
  level: 'silent',
  scrub: (text) => text,
  destination: { write: () => undefined },
})
