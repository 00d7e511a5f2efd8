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

/** Control characters of a text from outside would move the cursor or recolour the screen. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is to be removed
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, ' ')
}

/** Columns of text, aligned, under their headings. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly (string | null)[])[],
): string {
  const cells = [headings, ...rows.map((row) => row.map((cell) => printable(cell ?? '')))]
  const widths = headings.map((_, column) =>
    Math.max(...cells.map((row) => (row[column] ?? '').length)),
  )
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  const rule = widths.map((width) => '─'.repeat(width)).join('  ')
  return [line(headings), rule, ...cells.slice(1).map(line)].join('\n')
}
