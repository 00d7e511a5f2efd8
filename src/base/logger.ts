import { type DestinationStream, type Logger, pino } from 'pino'
import type { Scrub } from './secrets.ts'
import { cleanText } from './text.ts'

export type { Logger } from 'pino'

export interface LoggerOptions {
  readonly level: string
  readonly scrub: Scrub
  /** Where finished lines go; the terminal's renderer or standard output. */
  readonly destination: DestinationStream
}

/**
 * JSON lines, one an outcome, scrubbed as a whole.
 *
 * pino's `redact` works on paths and cannot see a token inside a message, a stack or a cause: the finished
 * line is scrubbed instead, so that no field can be forgotten.
 */
export function createLogger({ level, scrub, destination }: LoggerOptions): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: serializeError },
    },
    { write: (line: string) => destination.write(scrub(line)) },
  )
}

/** What a log line says of an error: no own properties, which may hold requests, options and credentials. */
function serializeError(err: unknown): Record<string, unknown> {
  if (!(err instanceof Error)) return { message: cleanText(String(err)) }
  return {
    name: err.name,
    code: (err as { code?: unknown }).code,
    message: cleanText(err.message),
    stack: cleanText(err.stack ?? '', 4000),
    ...(err.cause === undefined ? {} : { cause: serializeError(err.cause) }),
  }
}
