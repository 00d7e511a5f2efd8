import { describe, expect, it } from 'vitest'
import { openWatchFile } from '../../src/watches/files/watch-file.ts'
import { checkRows, InvalidRows, invalidRowLines } from '../../src/watches/rows/check-rows.ts'
import { fileOf, readRows } from './watch-fixtures.ts'

const HEADER = 'list,reference,flight_id,residents_adults,non_residents_adults'

const lines = (...texts: string[]) => `${texts.join('\n')}\n`

/** The lines that report the invalid rows of a file. */
async function invalidLines(name: string, content: string): Promise<string[]> {
  const invalid = new InvalidRows()
  const source = await openWatchFile(await fileOf(name, content))
  for await (const _batch of checkRows(source, invalid));
  return invalidRowLines(invalid).map((line) => line.trim())
}

describe('a CSV file', () => {
  it.each([
    ['a byte order mark', `\ufeff${lines(HEADER, 's,A,1,0,1', 's,B,1,0,1')}`],
    ['Windows line ends', lines(HEADER, 's,A,1,0,1', 's,B,1,0,1').replaceAll('\n', '\r\n')],
    ['old Mac line ends', lines(HEADER, 's,A,1,0,1', 's,B,1,0,1').replaceAll('\n', '\r')],
    [
      'white space around cells',
      lines(HEADER.replaceAll(',', ' , '), 's, A ,1,0,1', '"s","B",1,0,1 '),
    ],
  ])('a file may have %s', async (_, content) => {
    const rows = await readRows('a.csv', content)

    expect(rows.map((row) => [row.line, row.cells.list, row.cells.reference])).toEqual([
      [2, 's', 'A'],
      [3, 's', 'B'],
    ])
  })

  it.each([
    ['semicolons, as a spreadsheet writes where the decimal sign is a comma', ';'],
    ['tabs', '\t'],
    // Fault: A watch list file with semicolons, or an error in YAML. The file is read; an error names the line of its value.
  ])('a file may be separated by %s', async (_, delimiter) => {
    const content = lines('', HEADER, 's,A,1,0,1', 's,"B;, x",1,0,1').replaceAll(
      /,(?! )/g,
      delimiter,
    )

    const rows = await readRows('a.csv', `\ufeff${content}`)

    expect(rows.map(({ line, cells }) => [line, cells.reference, cells.flight_id])).toEqual([
      [3, 'A', '1'],
      [4, 'B;, x', '1'],
    ])
  })

  it('a decimal comma in a file with semicolons is reported with its line and column', async () => {
    const content = lines(`${HEADER},price_threshold_amount`, 's,A,1,0,1,"5,50"')
    const separated = content.replaceAll(/,(?!50)/g, ';')

    expect(await invalidLines('a.csv', separated)).toEqual([
      expect.stringMatching(/^line 2, price_threshold_amount: must be .*, not "5,50"$/),
    ])
  })

  it.each([
    [
      'empty cells at the end of each line',
      lines(`${HEADER},,`, 's,A,1,0,1,,', ',,,,,,', 's,B,1,0,1'),
    ],
    [
      'rows without their last optional cells',
      lines(`${HEADER},priority`, 's,A,1,0,1', '', 's,B,1,0,1,'),
    ],
    [
      'a first line that names the separator',
      lines(
        'sep=;',
        ...[HEADER, 's,A,1,0,1', 's,B,1,0,1'].map((line) => line.replaceAll(',', ';')),
      ),
    ],
    ['a header in capitals', lines(HEADER.toUpperCase(), 's,A,1,0,1', '', 's,B,1,0,1')],
  ])('a spreadsheet may write %s', async (_, content) => {
    const rows = await readRows('a.csv', content)

    expect(rows.map((row) => [row.cells.reference, row.cells.non_residents_adults])).toEqual([
      ['A', '1'],
      ['B', '1'],
    ])
    expect(rows.flatMap(({ errors }) => errors)).toEqual([])
  })

  it.each([
    ['no content', '', 'line 1: the header is missing'],
    ['an unknown column', lines(`${HEADER},fligth_id`), 'line 1: unknown column "fligth_id"'],
    ['a duplicate column', lines(`${HEADER},list`), 'the column list appears twice'],
    [
      'columns missing',
      lines('list,reference'),
      'missing in the header: flight_id, residents_adults, non_residents_adults',
    ],
    [
      'columns missing that only some rows need',
      lines('list,reference,departure,destination,flight_id', 's,A,LIS,JFK', 's,B,,,1', 's,C,,,2'),
      'line 1: missing in the header: residents_adults, non_residents_adults, needed by rows: 2',
    ],
    [
      'a quote that is never closed',
      lines(HEADER, 's,A,1,0,1', 's,"B,1,0,1'),
      'a quote is never closed',
    ],
    ['a quote within a cell', lines(HEADER, 's,A,1,0,1', 's,B"b",1,0,1'), 'line 3: '],
    [
      'a row that is too long',
      lines(HEADER, `s,"${'x'.repeat(70_000)}`),
      'line 2: a row is longer than 65536 bytes',
    ],
  ])('a file with %s is rejected', async (_, content, message) => {
    await expect(readRows('a.csv', content)).rejects.toThrow(message)
  })
})

describe('a YAML file', () => {
  const ENTRY = 'list: s, reference: A, flight_id: 1, residents_adults: 0, non_residents_adults: 1'

  it('a list yields its entries with their line numbers, and values as they are written', async () => {
    const rows = await readRows(
      'a.yaml',
      lines(
        '# the summer',
        '---',
        '- list: s',
        '  reference: 0012   # not a number',
        '  price_threshold_amount: 5.50',
        '  departs_on: 2026-09-01',
        '  return_flight_id: ~',
        '',
        '-',
        '  list: "s"',
        '  reference: true',
        '  return_flight_id:',
      ),
    )

    expect(rows).toMatchObject([
      {
        line: 3,
        errors: [],
        cells: {
          list: 's',
          reference: '0012',
          price_threshold_amount: '5.50',
          departs_on: '2026-09-01',
          return_flight_id: '',
        },
      },
      { line: 10, errors: [], cells: { list: 's', reference: 'true', return_flight_id: '' } },
    ])
  })

  it.each([
    ['in brackets', `[{${ENTRY}}, {${ENTRY.replace('A', 'B')}}]\n`],
    ['with Windows line ends', `- {${ENTRY}}\r\n- {${ENTRY.replace('A', 'B')}}\r\n`],
  ])('a list may be written %s', async (_, content) => {
    const rows = await readRows('a.yaml', content)

    expect(rows.map((row) => row.cells.reference)).toEqual(['A', 'B'])
  })

  it('an error names the line of its value, and that of the entry if the value is missing', async () => {
    const reported = await invalidLines(
      'a.yaml',
      lines(
        '- list: s',
        '  reference: A',
        '  flight_id: "1"',
        '  residents_adults: 0',
        '  non_residents_adults: 1',
        '- list: s',
        '  refrence: B',
        '  flight_id:',
        '    - "1"',
        '  residents_adults: many',
        '  non_residents_adults: 1',
      ),
    )

    expect(new Set(reported)).toEqual(
      new Set([
        'line 10, residents_adults: must be a whole number from 0 to 12, not "many"',
        'line 6, reference: is missing',
        'line 7, "refrence": is not a column of a watch list',
        'line 8, flight_id: must be a single value',
      ]),
    )
  })

  it.each([
    ['no content', '', 'line 1: the file must be a list of entries'],
    ['a map after a comment', '# one\n\nlist: s\n', 'line 3: the file must be a list of entries'],
    ['two documents', '- list: s\n---\n- list: t\n', 'line 2: a second document begins here'],
    [
      'broken YAML',
      lines('- list: s', '  reference: A', '- list: "s', '  reference: B'),
      'Missing closing "quote, in the entry of line 3',
    ],
  ])('a file with %s is rejected', async (_, content, message) => {
    await expect(readRows('a.yaml', content)).rejects.toThrow(message)
  })
})

describe('a watch list file', () => {
  it.each(['a.csv', 'a.yaml'])(
    '%s is rejected with the line number if it is not UTF-8',
    async (name) => {
      const bytes = Buffer.concat([Buffer.from('# one\n# two\n# caf'), Buffer.from([0xe9, 0x0a])])

      await expect(readRows(name, bytes)).rejects.toThrow('line 3: is not UTF-8 text')
    },
  )

  it('the first fifty invalid rows are reported and the others counted', async () => {
    const rows = Array.from({ length: 60 }, (_, i) => `s,R${i},1,0,x`)

    const reported = await invalidLines('a.csv', lines(HEADER, 's,A,1,0,1', ...rows))

    expect(reported).toHaveLength(51)
    expect(reported[0]).toMatch(/^line 3, non_residents_adults: /)
    expect(reported.at(-1)).toBe('and 10 more invalid rows')
  })
})
