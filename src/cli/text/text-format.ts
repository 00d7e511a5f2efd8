import { durationText } from '../../platform/base/text.ts'

const NUMBER = new Intl.NumberFormat('en-US')
/** A narrower screen gets lines that are too long: one letter a line would be worse. */
const MIN_TEXT_WIDTH = 20

/** 34354 becomes "34,354". */
export function count(value: number | null): string {
  return value === null ? '-' : NUMBER.format(value)
}

/** "1 route", "3 routes", "no routes". */
export function countOf(value: number, noun: string, plural = `${noun}s`): string {
  if (value === 0) return `no ${plural}`
  return `${count(value)} ${value === 1 ? noun : plural}`
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

/** "2026-01-31 12:00:00", in UTC. */
export function secondText(instant: Date): string {
  return instant.toISOString().slice(0, 19).replace('T', ' ')
}

/** "5 min ago". */
export function agoText(instant: Date, now: Date): string {
  return `${durationText(now.getTime() - instant.getTime())} ago`
}

/** The members of an object that its JSON output has, in their order there. */
export function pick<T extends object, K extends keyof T>(from: T, ...keys: readonly K[]) {
  return Object.fromEntries(keys.map((key) => [key, from[key]]))
}

/** The characters by which a text could move the cursor, colour the screen or change the direction of writing. */
const ACTING = '[\\p{Cc}\\p{Zl}\\p{Zp}\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]'
const ANY_ACTING = new RegExp(ACTING, 'gu')
/** Line ends, tabs and the colours that commands print themselves are kept. */
const FOREIGN_ACTING = new RegExp(`(?!\\r?\\n|\\t|\\x1b\\[(?:0|2|3[123])m)${ACTING}`, 'gu')

/** A text from outside in one line: a space replaces each character that a terminal acts on. */
export function printable(text: string): string {
  return text.replace(ANY_ACTING, ' ')
}

/**
 * Escapes as in JSON what a terminal would act on, except line ends and our own colours: a last defence for texts that
 * quote the upstream, a file or the database.
 * @example escapeControls('\x1b[2J') // '\\u001b[2J'
 */
export function escapeControls(text: string): string {
  return text.replace(
    FOREIGN_ACTING,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** The text for a stream. A terminal gets it with control characters escaped, a file or a pipe gets it unchanged. */
export function forScreen(text: string, stream: { readonly isTTY?: boolean }): string {
  return stream.isTTY === true ? escapeControls(text) : text
}

/** A table with aligned columns. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly (string | null)[])[],
): string {
  const cells = [headings, ...rows].map((row) => row.map((cell) => printable(cell ?? '')))
  const widths = headings.map((_, column) =>
    cells.reduce((widest, row) => Math.max(widest, (row[column] ?? '').length), 0),
  )
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  const rule = widths.map((width) => '─'.repeat(width)).join('  ')
  return [...cells.slice(0, 1).map(line), rule, ...cells.slice(1).map(line)].join('\n')
}

/** Characters in a line; infinite for a pipe or a screen of unknown width. */
export function screenWidth(stream: {
  readonly isTTY?: boolean
  readonly columns?: number
}): number {
  return stream.isTTY === true && stream.columns !== undefined && stream.columns > 0
    ? stream.columns
    : Number.POSITIVE_INFINITY
}

/**
 * Wraps a text into lines of at most `width` characters. A longer word stays whole.
 * @example wrapText('one two three', 8) // ['one two', 'three']
 */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}

/**
 * A label and its text, wrapped with a hanging indent.
 * @example hangingIndent('  disk  ', 'half full', 13) // '  disk  half\n        full'
 */
export function hangingIndent(label: string, text: string, width: number): string {
  const room = Math.max(MIN_TEXT_WIDTH, width - label.length)
  return wrapText(text, room)
    .map((line, i) => `${i === 0 ? label : ' '.repeat(label.length)}${line}`)
    .join('\n')
}

/** Labels and their texts, in two columns. */
export function labelledLines(rows: readonly (readonly [string, string])[], width: number): string {
  const widest = Math.max(0, ...rows.map(([label]) => label.length))
  return rows
    .map(([label, text]) => hangingIndent(`${label.padEnd(widest)}  `, text, width))
    .join('\n')
}

/** The text if each of its lines fits the width; else the narrow form. */
export function fitOrElse(text: string, width: number, narrow: () => string): string {
  return text.split('\n').every((line) => line.length <= width) ? text : narrow()
}

/** The example at the end of a command's help. */
export function example(...commands: readonly string[]): string {
  const lines = commands.map((command) => `\n  bin/farewatch ${command}`)
  return `\nExample${lines.length === 1 ? '' : 's'}:${lines.join('')}`
}
