import { once } from 'node:events'
import type { Writable } from 'node:stream'
import type { ProgramOptions } from './describe.ts'
import { csvText, escapeControls, forScreen, hasColours, screenWidth } from './text/text-format.ts'

/** The output of a command. `interactive` is whether standard error is a terminal. */
export interface Terminal {
  readonly interactive: boolean
  /** Characters in a line of standard output; infinite where it is no terminal, and with --wide. */
  readonly width: number
  /** Prints a result on standard output. */
  out(text: string): void
  /** Prints a value as its text, as JSON or as CSV. What is undefined has no JSON. */
  print(value: unknown, text: () => string): void
  /** Prints values as their text, as lines of JSON or as CSV. */
  printRows(rows: readonly unknown[], text: () => string): void
  /** Prints a finished step on standard error, if that is a terminal. */
  step(text: string): void
  /** Replaces the progress line; an empty text removes it. Without a terminal, progress is logged every ten seconds. */
  progress(text: string): void
}

interface TerminalStreams {
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number }
  readonly stderr: Writable & { readonly isTTY?: boolean }
  readonly logProgress?: (text: string) => void
}

const GREEN = '\x1b[32m'
const RESET = '\x1b[0m'
const CLEAR_LINE = '\r\x1b[K'
const REDRAW_MS = 100
const LOG_MS = 10_000

export function createTerminal(
  { stdout, stderr, logProgress }: TerminalStreams,
  { output = 'table', wide = false }: ProgramOptions = {},
): Terminal {
  const interactive = stderr.isTTY === true
  const coloured = hasColours(stderr)
  let drawn = false
  let drawnAt = 0
  let loggedAt = Date.now()
  const clear = () => {
    if (drawn) stderr.write(CLEAR_LINE)
    drawn = false
  }
  const out = (text: string) => {
    clear()
    stdout.write(`${forScreen(text, stdout)}\n`)
  }
  const printRows = (rows: readonly unknown[], text: () => string) => {
    if (output === 'table') out(text())
    else if (output === 'json') for (const row of rows) out(JSON.stringify(row))
    else if (rows.length > 0) out(csvText(rows))
  }
  return {
    interactive,
    get width() {
      return wide ? Number.POSITIVE_INFINITY : screenWidth(stdout)
    },
    out,
    print: (value, text) => printRows(value === undefined ? [] : [value], text),
    printRows,
    step(text) {
      if (!interactive) return
      clear()
      stderr.write(`  ${coloured ? `${GREEN}✓${RESET}` : '✓'} ${escapeControls(text)}\n`)
    },
    progress(text) {
      // A terminal that cannot move its cursor would get a line a change.
      if (!coloured) {
        if (text === '' || Date.now() - loggedAt < LOG_MS) return
        loggedAt = Date.now()
        return logProgress?.(text)
      }
      if (text === '') return clear()
      if (Date.now() - drawnAt < REDRAW_MS) return
      drawnAt = Date.now()
      drawn = true
      stderr.write(`${CLEAR_LINE}  … ${escapeControls(text)}`)
    },
  }
}

/** Writes the text of an answer to standard output, as it comes. */
export async function copyOut({ body }: { readonly body: AsyncIterable<string> }): Promise<void> {
  for await (const part of body) await writeOut(part)
}

/** Writes a text to standard output, and waits while its reader is behind. */
export async function writeOut(text: string, signal?: AbortSignal): Promise<void> {
  if (process.stdout.write(forScreen(text, process.stdout))) return
  await once(process.stdout, 'drain', { signal })
}
