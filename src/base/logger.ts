import { type DestinationStream, type Logger, pino } from 'pino'
import { messageOf } from './errors.ts'
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
      serializers: { err: (err: unknown) => serializeError(err, scrub) },
    },
    { write: (line: string) => destination.write(scrub(line)) },
  )
}

/** A chain of causes may be a ring. */
const MAX_CAUSES = 5

/**
 * What a log line says of an error: no own properties, which may hold requests, options and credentials.
 * Scrubbed before it is cut: half a secret is not to be recognized in the finished line.
 */
function serializeError(err: unknown, scrub: Scrub, depth = 0): Record<string, unknown> {
  const message = cleanText(scrub(messageOf(err)))
  if (!(err instanceof Error)) return { message }
  const { code } = err as { code?: unknown }
  const follow = err.cause !== undefined && depth < MAX_CAUSES
  return {
    name: err.name,
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    message,
    stack: cleanText(scrub(err.stack ?? ''), 4000),
    ...(follow ? { cause: serializeError(err.cause, scrub, depth + 1) } : {}),
  }
}
