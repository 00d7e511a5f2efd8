import { createLogger, type Logger } from '../../src/platform/base/logger.ts'

/** A log of a test, and the lines that were written to it. */
export function collectLog(level = 'info'): { readonly log: Logger; readonly lines: string[] } {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  return { log: createLogger({ level, scrub: (text) => text, destination }), lines }
}
