import { changeSentence, type ShownChange } from '../../delivery/formats/change-sentence.ts'
import { VOCABULARY } from '../../platform/base/vocabulary.ts'
import { NO_COUNTS, type SyncOutcome } from '../../routes/runs.ts'
import { syncSentence } from './sync-runs-text.ts'
import { printable } from './text-format.ts'

const DIM = '\x1b[2m'
const YELLOW = '\x1b[33m'
const RED = '\x1b[31m'
const RESET = '\x1b[0m'
const COLOURS: Readonly<Record<string, string>> = { warn: YELLOW, error: RED, fatal: RED }

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the codes above
const COLOUR_CODE = /\x1b\[\d+m/g

type LogFields = Readonly<Record<string, unknown>>

/** What is not decided yet is no news for a person. */
const NOT_SHOWN = { pendingAbsences: 0, pendingPlaces: 0 }

/** Events that are shown as sentences. Any other line is shown as its message and fields. */
const SENTENCES: Readonly<Record<string, (fields: LogFields, time: Date) => string>> = {
  // The log line lacks the members that are null.
  'route sync finished': (fields) =>
    syncSentence({ ...NO_COUNTS, reason: null, ...fields, ...NOT_SHOWN } as unknown as SyncOutcome),
  'incident opened': ({ kind }) => VOCABULARY.incidents[String(kind)] ?? '',
  'webhook received': ({ seq, outcome, text }) => `webhook ${seq ?? ''} ${outcome}: ${text}`,
  'fare changed': (fields, time) =>
    changeSentence(fields as unknown as ShownChange, time.getFullYear()),
}

/** Messages of what the steps on the terminal show already, and of what is done by itself. */
const NOT_NEWS = new Set([
  'embedded postgres ready',
  'embedded postgres stopped',
  'sandbox listens',
  'ready',
  'job schedulers written',
  'a missed sync is made up',
  'stopping',
  'stopped',
])

/**
 * A log destination for a terminal: shows each JSON line as a plain line. Without `debug` it leaves out the lines
 * of that level that have no sentence, and the first sight of fares: a log of level `debug` then shows each change of a fare.
 */
export function createLogLines(
  write: (text: string) => void,
  { debug, coloured = true }: { debug: boolean; coloured?: boolean },
): { write(line: string): void } {
  return {
    write: (line) => {
      const text = renderLogLine(line, debug)
      if (text !== undefined) write(coloured ? text : plain(text))
    },
  }
}

function plain(text: string): string {
  return text.replaceAll(COLOUR_CODE, '')
}

interface LogLine extends LogFields {
  readonly time: string
  readonly level: string
  readonly msg: string
}

function renderLogLine(line: string, debug: boolean): string | undefined {
  const parsed = parseLogLine(line)
  if (parsed === undefined) return `${printable(line.trimEnd())}\n`
  const { time, level, msg, ...fields } = parsed
  if (level === 'info' && (NOT_NEWS.has(msg) || isNoNews(fields))) return undefined
  const sentence = SENTENCES[msg]
  if (level === 'debug' && !debug && (sentence === undefined || isFirstSight(fields))) {
    return undefined
  }
  const at = new Date(time)
  const text = sentence === undefined ? `${msg}${fieldsText(fields)}` : sentence(fields, at)
  const clock = at.toTimeString().slice(0, 8)
  const colour = COLOURS[level] ?? ''
  return `${DIM}${clock}${RESET}  ${colour}${printable(text)}${colour === '' ? '' : RESET}\n`
}

/** The line of a delivered change itself has been shown, and a list that changes nothing comes each few seconds. */
function isNoNews({ outcome, seq, status }: LogFields): boolean {
  return (outcome === 'verified' && typeof seq === 'number') || status === 'unchanged'
}

/** After an import there are thousands of them. */
function isFirstSight({ kind }: LogFields): boolean {
  return kind === 'first_seen'
}

/** Undefined for a line that is no JSON: the scrubber may have masked a secret of digits where a number stood. */
function parseLogLine(line: string): LogLine | undefined {
  try {
    return JSON.parse(line) as LogLine
  } catch {
    return undefined
  }
}

function fieldsText(fields: LogFields): string {
  return Object.entries(fields)
    .filter(([name]) => name !== 'requestId')
    .map(([name, value]) => `  ${name}=${typeof value === 'string' ? value : errorText(value)}`)
    .join('')
}

function errorText(value: unknown): string {
  const { message } = (value ?? {}) as { message?: unknown }
  return typeof message === 'string' ? message : JSON.stringify(value)
}
