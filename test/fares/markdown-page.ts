/** One row of a table, by the names of its columns. */
export type TableRow = Readonly<Record<string, string>>

/** Every row of every table of a page that has the column. */
export function tableRows(page: string, column: string): TableRow[] {
  return page
    .split(/\n(?!\|)/)
    .map((block) => block.split('\n').filter((line) => line.startsWith('|')))
    .filter((lines) => cellsOf(lines[0] ?? '').includes(column))
    .flatMap(([header = '', , ...rows]) => {
      const names = cellsOf(header)
      return rows.map((row) => {
        const cells = cellsOf(row)
        return Object.fromEntries(names.map((name, at) => [name, cells[at] ?? '']))
      })
    })
}

function cellsOf(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim())
}
