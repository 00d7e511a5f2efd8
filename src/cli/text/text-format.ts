import { durationText, escapeCharacter } from '../../platform/base/text.ts'

/** Between groups of three digits. Intl.NumberFormat costs a command 7 MB. */
const GROUPS = /(?<!\.\d*)\B(?=(\d{3})+(?!\d))/g
/** A narrower screen gets lines that are too long: one letter a line would be worse. */
const MIN_TEXT_WIDTH = 20

/** 34354 becomes "34,354", and 1234.56789 "1,234.568". */
export function count(value: number | null): string {
  return value === null ? '-' : String(Math.round(1_000 * value) / 1_000).replaceAll(GROUPS, ',')
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

/** An instant, its text in JSON, or its milliseconds. */
type Instant = Date | string | number

/** "2026-01-31 12:00:00", in UTC. */
export function secondText(instant: Instant): string {
  return new Date(instant).toISOString().slice(0, 19).replace('T', ' ')
}

/** "2026-01-31 12:00:00 UTC". */
export function timeText(instant: Instant): string {
  return `${secondText(instant)} UTC`
}

/** "5 min ago". */
export function agoText(instant: Instant, now: Date): string {
  return `${durationText(now.getTime() - new Date(instant).getTime())} ago`
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
  return text.replace(FOREIGN_ACTING, escapeCharacter)
}

/** The text for a stream. A terminal gets it with control characters escaped, a file or a pipe gets it unchanged. */
export function forScreen(text: string, stream: { readonly isTTY?: boolean }): string {
  return stream.isTTY === true ? escapeControls(text) : text
}

/** A narrower column says nothing. */
const MIN_CELL_WIDTH = 4

/** A table with aligned columns. In a narrower room the widest cells are cut, those of the first column never. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly (string | null)[])[],
  room = Number.POSITIVE_INFINITY,
): string {
  const cells = [headings, ...rows].map((row) => row.map((cell) => printable(cell ?? '')))
  const widest = headings.map((_, column) =>
    cells.reduce((most, row) => Math.max(most, (row[column] ?? '').length), 0),
  )
  const widths = fitted(widest, room)
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cut(cell, widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  const rule = widths.map((width) => '─'.repeat(width)).join('  ')
  return [...cells.slice(0, 1).map(line), rule, ...cells.slice(1).map(line)].join('\n')
}

function fitted(widths: readonly number[], room: number): number[] {
  const all = widths.reduce((sum, width) => sum + width + 2, -2)
  const most = Math.max(...widths.slice(1))
  if (all <= room || most <= MIN_CELL_WIDTH) return [...widths]
  const at = widths.lastIndexOf(most)
  return fitted(widths.with(at, most - 1), room)
}

function cut(cell: string, width: number): string {
  return cell.length > width ? `${cell.slice(0, width - 1)}…` : cell.padEnd(width)
}

type Cell = string | number | boolean | null | undefined | readonly string[]

/** The columns of a table by their headings: a member of the row, or what is made of it. */
export interface Columns<T> {
  readonly [heading: string]: (keyof T & string) | ((row: T) => Cell)
}

const INSTANT = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/

/** Rows as a table. The heading of a column with instants names their zone. */
export function tableText<T>(columns: Columns<T>, rows: readonly T[], room?: number): string {
  const cells = Object.values(columns).map((of) =>
    rows.map((row) => (typeof of === 'function' ? of(row) : (row[of] as Cell))),
  )
  const headings = Object.keys(columns).map((name, i) =>
    cells[i]?.some((cell) => INSTANT.test(String(cell))) ? `${name}, UTC` : name,
  )
  return table(
    headings,
    rows.map((_, row) => cells.map((column) => cellText(column[row]))),
    room,
  )
}

function cellText(cell: Cell): string {
  if (cell === null || cell === undefined) return ''
  if (typeof cell === 'number') return count(cell)
  if (typeof cell === 'object') return cell.join(', ')
  return INSTANT.test(String(cell)) ? secondText(String(cell)) : String(cell)
}

/** Rows as CSV, with a column for each member; the members of an object in it have the names of both. */
export function csvText(rows: readonly unknown[]): string {
  const flat = rows.map((row) => membersOf(JSON.parse(JSON.stringify(row))))
  const names = [...new Set(flat.flatMap((members) => [...members.keys()]))]
  return [names, ...flat.map((members) => names.map((name) => members.get(name) ?? ''))]
    .map((cells) => cells.map(quoted).join(','))
    .join('\n')
}

function membersOf(value: unknown, name = ''): Map<string, string> {
  if (value === null) return new Map([[name, '']])
  if (typeof value !== 'object') return new Map([[name, String(value)]])
  if (Array.isArray(value)) return new Map([[name, JSON.stringify(value)]])
  return new Map(
    Object.entries(value).flatMap(([key, inner]) => [
      ...membersOf(inner, name === '' ? key : `${name}.${key}`),
    ]),
  )
}

function quoted(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

/** Whether a stream is a terminal that takes colours and moves its cursor: NO_COLOR and TERM=dumb say that it does not. */
export function hasColours(stream: {
  readonly isTTY?: boolean
  readonly hasColors?: () => boolean
}): boolean {
  return stream.isTTY === true && (stream.hasColors?.() ?? true)
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
