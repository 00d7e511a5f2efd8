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

/** The parts without those that are missing. */
export function present<T>(...parts: readonly (T | false | null | undefined)[]): T[] {
  return parts.filter((part) => part !== false && part != null) as T[]
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

/** A narrower text says nothing. */
const MIN_TEXT = 12

/** A number or an instant, which would be another one if it were cut. */
const DIGITS = /^[\d,.: -]+$/

/**
 * A table with aligned columns. In a narrower room the widest texts are cut, those of the first column never. If that is
 * not enough, the last columns are left out, and a line names them.
 */
export function table(
  headings: readonly string[],
  rows: readonly (readonly (string | null)[])[],
  room = Number.POSITIVE_INFINITY,
): string {
  const cells = [headings, ...rows].map((row) => row.map((cell) => printable(cell ?? '')))
  const columns = headings.map((_, column) => cells.map((row) => row[column] ?? ''))
  const widest = columns.map((column) =>
    column.reduce((most, cell) => Math.max(most, cell.length), 0),
  )
  const least = columns.map(([, ...column], at) => {
    const isCut = at > 0 && !column.some((cell) => DIGITS.test(cell))
    return Math.min(widest[at] ?? 0, isCut ? MIN_TEXT : Number.POSITIVE_INFINITY)
  })
  const fits = least.filter((_, at) => at === 0 || lineOf(least.slice(0, at + 1)) <= room).length
  const widths = fitted(widest.slice(0, fits), least, room)
  const line = (row: readonly string[]) =>
    widths
      .map((width, column) => cut(row[column] ?? '', width))
      .join('  ')
      .trimEnd()
  const rule = widths.map((width) => '─'.repeat(width)).join('  ')
  const left = headings.slice(fits)
  const more = left.length > 0 && `(--wide shows also: ${left.join('; ')})`
  return present(...cells.slice(0, 1).map(line), rule, ...cells.slice(1).map(line), more).join('\n')
}

function lineOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width + 2, -2)
}

/** Takes from the widest column that may lose more until the line fits. */
function fitted(
  widths: readonly number[],
  least: readonly number[],
  room: number,
): readonly number[] {
  const spare = widths.map((width, at) => (width > (least[at] ?? 0) ? width : 0))
  const most = Math.max(...spare)
  if (lineOf(widths) <= room || most === 0) return widths
  return fitted(widths.with(spare.lastIndexOf(most), most - 1), least, room)
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
    rows.map((row) => (typeof of === 'function' ? of(row) : cellOf(row[of], of))),
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

/** A number that names something is written without groups of digits. */
const NAMED = /(^i|I)d$|(^s|S)eq$/

function cellOf(value: unknown, name: string): Cell {
  return typeof value === 'number' && NAMED.test(name) ? String(value) : (value as Cell)
}

function cellText(cell: Cell): string {
  if (cell === null || cell === undefined) return ''
  if (typeof cell === 'number') return count(cell)
  if (typeof cell === 'object') return cell.join(', ')
  return INSTANT.test(String(cell)) ? secondText(String(cell)) : String(cell)
}

/**
 * A record, one member a line, without members that are null. The words of a label are those of the name: `dueAt` is "due
 * at". Members that are lists of objects follow as tables, or as records where a table would be wider than the screen.
 */
export function recordText(record: unknown, width: number): string {
  const members = Object.entries(JSON.parse(JSON.stringify(record)) as object)
  const lines = members.flatMap(([name, value]): [string, string][] => {
    const text = isRows(value) ? '' : valueText(value, name)
    return text === '' ? [] : [[wordsOf(name), text]]
  })
  const lists = members.flatMap(([name, value]) =>
    isRows(value) ? [`${wordsOf(name)}:\n${rowsText(value, width)}`] : [],
  )
  return present(lines.length > 0 && labelledLines(lines, width), ...lists).join('\n\n')
}

type Row = Readonly<Record<string, unknown>>

function isRows(value: unknown): value is readonly Row[] {
  return Array.isArray(value) && typeof value[0] === 'object'
}

function rowsText(rows: readonly Row[], width: number): string {
  const names = [...new Set(rows.flatMap(Object.keys))]
  const known = names.filter((name) => rows.some((row) => valueText(row[name]) !== ''))
  const columns = known.map((name) => {
    const cellOf = (row: Row) => {
      const value = row[name]
      return typeof value === 'string' ? value : valueText(value, name)
    }
    return [wordsOf(name), cellOf] as const
  })
  const text = tableText(Object.fromEntries(columns), rows)
  const fits = text.split('\n').every((line) => line.length <= width)
  return fits ? text : rows.map((row) => recordText(row, width)).join('\n\n')
}

function wordsOf(name: string): string {
  return printable(name).replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}

/** Objects within objects are printed to this depth; then … stands for them. */
const MAX_DEPTH = 2

/** Any value of JSON in one line; null is empty. */
function valueText(value: unknown, name = '', depth = 0): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'string') return INSTANT.test(value) ? timeText(value) : printable(value)
  if (typeof value === 'number') return cellText(cellOf(value, name))
  const { amount, currency } = value as { readonly amount?: unknown; readonly currency?: unknown }
  if (amount !== undefined && currency !== undefined) return printable(`${amount} ${currency}`)
  if (depth > MAX_DEPTH) return '…'
  const parts = Array.isArray(value)
    ? value.map((item) => valueText(item, name, depth))
    : Object.entries(value).map(([key, inner]) => memberText(key, inner, depth + 1))
  return parts.filter((part) => part !== '').join(', ') || 'none'
}

/** @example memberText('endsAt', { departure: 'PMI', destination: 'OSL' }, 1) // 'ends at (departure PMI, destination OSL)' */
function memberText(name: string, value: unknown, depth: number): string {
  const text = valueText(value, name, depth)
  if (text === '') return ''
  return `${wordsOf(name)} ${text.includes(', ') ? `(${text})` : text}`
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
