import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type WatchFormat, writeRows } from '../../src/watches/files/watch-file.ts'
import { checkRow } from '../../src/watches/rows/check-rows.ts'
import { cellsOf, escapeFormula, unescapeFormula } from '../../src/watches/rows/watch-row.ts'
import { entries } from './entry-arbitrary.ts'
import { readRows } from './watch-fixtures.ts'

describe('an exported file', () => {
  it.each<WatchFormat>(['csv', 'yaml'])(
    'a written %s file is read as the same entries',
    async (format) => {
      await fc.assert(
        fc.asyncProperty(entries(), async (written) => {
          let text = ''
          for await (const part of writeRows([written.map(cellsOf)], format)) text += part

          const read = (await readRows(`a.${format}`, text)).map(checkRow)

          expect(read.map((row) => ('entry' in row ? row.entry : row))).toEqual(written)
        }),
        { numRuns: 25 },
      )
    },
  )

  it.each<[WatchFormat, RegExp]>([
    ['csv', /^list,reference,flight_id,.*\n$/],
    ['yaml', /^\[\]\n$/],
  ])('a written %s file without entries is an empty list', async (format, text) => {
    let written = ''
    for await (const part of writeRows([], format)) written += part

    expect(written).toMatch(text)
    expect(await readRows(`a.${format}`, written)).toEqual([])
  })

  it('a CSV file contains no cell that a spreadsheet would run', () => {
    expect(escapeFormula('=1+1')).toBe("'=1+1")
    expect(escapeFormula('A=1')).toBe('A=1')
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(unescapeFormula(escapeFormula(text))).toBe(text)
        expect(escapeFormula(text)).not.toMatch(/^[=+\-@]/)
      }),
    )
  })
})
