const NUMBER = new Intl.NumberFormat('en-US')

/** 34354 becomes "34,354". */
export function count(value: number | null): string {
  return value === null ? '-' : NUMBER.format(value)
}

/** "1 route", "3 routes", "no routes". */
export function countOf(value: number, noun: string): string {
  if (value === 0) return `no ${noun}s`
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

/**
 * Control characters of a text from outside would move the cursor or recolour the screen, marks of direction would
 * show it in another order than it has.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, ' ')
}

/** Columns of text, aligned, under their headings. */
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

/** Where nobody knows how wide the screen is, as in a pipe, lines are not cut at all. */
export function screenWidth(stream: {
  readonly isTTY?: boolean
  readonly columns?: number
}): number {
  return stream.isTTY === true && stream.columns !== undefined && stream.columns > 0
    ? stream.columns
    : Number.POSITIVE_INFINITY
}

/**
 * Cuts a text into lines of at most `width` characters, between words; a longer word stays whole.
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
 * A text beside its name: the further lines stand under the first.
 * @example besideName('  disk  ', 'half full', 13) // '  disk  half\n        full'
 */
export function besideName(name: string, text: string, width: number): string {
  const room = Math.max(MIN_TEXT, width - name.length)
  return wrapText(text, room)
    .map((line, i) => `${i === 0 ? name : ' '.repeat(name.length)}${line}`)
    .join('\n')
}

/** Texts beside their names, all in one column. */
export function besideNames(rows: readonly (readonly [string, string])[], width: number): string {
  const widest = rows.reduce((most, [name]) => Math.max(most, name.length), 0)
  return rows.map(([name, text]) => besideName(`${name.padEnd(widest)}  `, text, width)).join('\n')
}

/** A text as it is where the screen is wide enough for all its lines; else what was made for a narrow one. */
export function fitting(text: string, width: number, narrow: () => string): string {
  return text.split('\n').every((line) => line.length <= width) ? text : narrow()
}

/** On a screen that is narrower than anybody's, a line too long is better than a letter a line. */
const MIN_TEXT = 20
