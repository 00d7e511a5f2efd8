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
