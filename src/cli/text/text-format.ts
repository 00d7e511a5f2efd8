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
