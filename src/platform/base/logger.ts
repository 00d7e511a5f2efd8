import { type DestinationStream, type Logger, pino } from 'pino'
import { messageOf } from './errors.ts'
import type { Scrub } from './secrets.ts'
import { cleanText } from './text.ts'
import { currentTrace } from './tracing.ts'

export type { Logger } from 'pino'

interface LoggerOptions {
  readonly level: string
  readonly scrub: Scrub
  /** Receives finished lines: the terminal's renderer or standard output. */
  readonly destination: DestinationStream
  /** Fields of every line. */
  readonly base?: Readonly<Record<string, unknown>>
}

/**
 * Writes JSON lines, one for each outcome, and scrubs every finished line.
 *
 * pino's `redact` works on paths and does not find a token inside a message, a stack or a cause. Scrubbing the
 * whole line covers every field.
 */
export function createLogger({ level, scrub, destination, base }: LoggerOptions): Logger {
  return pino(
    {
      level,
      base: base ?? null,
      // pino adds the fields of the line to this object.
      mixin: () => ({ ...currentTrace() }),
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (err: unknown) => serializeError(err, scrub) },
    },
    { write: (line: string) => destination.write(scrub(line)) },
  )
}

/** A chain of causes may be circular. */
const MAX_CAUSES = 5

/**
 * The fields of an error in a log line. Its own properties are left out: they may hold requests, options and
 * credentials. Text is scrubbed before it is cut, because the scrubber would not recognize half of a secret.
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
