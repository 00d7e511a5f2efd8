import type { Writable } from 'node:stream'

/** Where a command writes, and whether a person watches. */
export interface Terminal {
  readonly interactive: boolean
  /** The command's answer, for people or for a pipe. */
  out(text: string): void
  /** One finished step on the way, on standard error; silent where nobody watches. */
  step(text: string): void
  /** Replaces the line in progress; an empty text ends it. */
  progress(text: string): void
}

export interface TerminalStreams {
  readonly stdout: Writable
  readonly stderr: Writable & { readonly isTTY?: boolean }
}

const GREEN = '\x1b[32m'
const RESET = '\x1b[0m'
const CLEAR_LINE = '\r\x1b[K'
const REDRAW_MS = 100

export function createTerminal({ stdout, stderr }: TerminalStreams): Terminal {
  const interactive = stderr.isTTY === true
  let drawn = false
  let drawnAt = 0
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
      if (!interactive) return
      if (text === '') return clear()
      if (Date.now() - drawnAt < REDRAW_MS) return
      drawnAt = Date.now()
      drawn = true
      stderr.write(`${CLEAR_LINE}  … ${text}`)
    },
  }
}
