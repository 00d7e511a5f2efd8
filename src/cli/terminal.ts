import type { Writable } from 'node:stream'

/** Where a command writes, and whether a person watches. */
export interface Terminal {
  readonly interactive: boolean
  /** The command's answer, for people or for a pipe. */
  out(text: string): void
  /** One finished step on the way, on standard error; silent where nobody watches. */
  step(text: string): void
  /** Replaces the line in progress; an empty text ends it. Where nobody watches, a line of the log now and then. */
  progress(text: string): void
}

export interface TerminalStreams {
  readonly stdout: Writable
  readonly stderr: Writable & { readonly isTTY?: boolean }
  /** Hears of progress where nobody watches. */
  readonly logProgress?: (text: string) => void
}

const GREEN = '\x1b[32m'
const RESET = '\x1b[0m'
const CLEAR_LINE = '\r\x1b[K'
const REDRAW_MS = 100
/** What takes no longer tells nothing. */
const LOG_MS = 10_000

export function createTerminal({ stdout, stderr, logProgress }: TerminalStreams): Terminal {
  const interactive = stderr.isTTY === true
  let drawn = false
  let drawnAt = 0
  let loggedAt = Date.now()
  const clear = () => {
    if (drawn) stderr.write(CLEAR_LINE)
    drawn = false
  }
  return {
    interactive,
    out(text) {
      clear()
      stdout.write(`${text}\n`)
    },
    step(text) {
      if (!interactive) return
      clear()
      stderr.write(`  ${GREEN}✓${RESET} ${text}\n`)
    },
    progress(text) {
      if (!interactive) {
        if (text === '' || Date.now() - loggedAt < LOG_MS) return
        loggedAt = Date.now()
        return logProgress?.(text)
      }
      if (text === '') return clear()
      if (Date.now() - drawnAt < REDRAW_MS) return
      drawnAt = Date.now()
      drawn = true
      stderr.write(`${CLEAR_LINE}  … ${text}`)
    },
  }
}
