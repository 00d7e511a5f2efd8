import { describe, expect, it } from 'vitest'
import { openWatchFile } from '../../src/watch/files/open-watch-file.ts'
import { checkRows, WrongRows } from '../../src/watch/rows/check-rows.ts'
import { wrongRowLines } from '../../src/watch/rows/watch-errors.ts'
import { fileOf, readRows } from './watch-fixtures.ts'

const HEADER = 'list,reference,flight_id,residents_adults,non_residents_adults'

const lines = (...texts: string[]) => `${texts.join('\n')}\n`

/** What is said of the wrong rows of a file. */
async function wrongIn(name: string, content: string): Promise<string[]> {
  const wrong = new WrongRows()
  const source = await openWatchFile(await fileOf(name, content))
  for await (const _batch of checkRows(source, wrong));
  return wrongRowLines(wrong).map((line) => line.trim())
}

describe('a watch list in CSV', () => {
  it('gives its rows with their lines, whatever the order of its columns', async () => {
    const rows = await readRows(
      'a.csv',
      lines(
        'flight_id,list,reference,non_residents_adults,residents_adults',
        '',
        '101,s,A,1,0',
        ',,,,',
        '102,s,B,2,0',
      ),
    )

    expect(rows.map((row) => [row.line, row.cells.flight_id, row.cells.reference])).toEqual([
      [3, '101', 'A'],
      [5, '102', 'B'],
    ])
  })

  it.each([
    ['a byte order mark', `\ufeff${lines(HEADER, 's,A,1,0,1', 's,B,1,0,1')}`],
    ['Windows line ends', lines(HEADER, 's,A,1,0,1', 's,B,1,0,1').replaceAll('\n', '\r\n')],
    ['old Mac line ends', lines(HEADER, 's,A,1,0,1', 's,B,1,0,1').replaceAll('\n', '\r')],
    ['mixed line ends', `${HEADER}\ns,A,1,0,1\r\ns,B,1,0,1`],
    [
      'white space around cells',
      lines(HEADER.replaceAll(',', ' , '), 's, A ,1,0,1', '"s","B",1,0,1 '),
    ],
  ])('reads a file with %s', async (_, content) => {
    const rows = await readRows('a.csv', content)

    expect(rows.map((row) => [row.line, row.cells.list, row.cells.reference])).toEqual([
      [2, 's', 'A'],
      [3, 's', 'B'],
    ])
  })

  it('keeps quotes, commas and outer white space that are quoted', async () => {
    const rows = await readRows('a.csv', lines(HEADER, 's,"say ""A"", B ",1,0,1'))

    expect(rows[0]?.cells.reference).toBe('say "A", B ')
  })

  it('counts the lines of a quoted cell that holds several', async () => {
    const said = await wrongIn('a.csv', lines(HEADER, 's,"A\r\n\r\nB",1,0,1', 's,C,1,0,x'))

    expect(said).toEqual([
      'line 2, reference: must not hold control characters',
      'line 5, non_residents_adults: must be a whole number from 0 to 12, not "x"',
    ])
  })

  it('names rows with too many or too few cells', async () => {
    expect(await wrongIn('a.csv', lines(HEADER, 's,A,1,0,1,9', 's,B,1,0'))).toEqual([
      'line 2, the row: has 6 cells where the header has 5',
      'line 3, the row: has 4 cells where the header has 5',
      'line 3, non_residents_adults: is missing',
    ])
  })

  it.each([
    ['nothing in it', '', 'line 1: there is no header'],
    ['an unknown column', lines(`${HEADER},fligth_id`), 'line 1: unknown column "fligth_id"'],
    ['several unknown columns', lines(`${HEADER},x,__proto__`), 'unknown columns "x", "__proto__"'],
    ['a column without a name', lines(`${HEADER},`), 'unknown column ""'],
    ['a column twice', lines(`${HEADER},list`), 'the column list is there twice'],
    [
      'columns missing',
      lines('list,reference'),
      'flight_id, residents_adults, non_residents_adults must be there',
    ],
    ['a quote that is never closed', lines(HEADER, 's,A,1,0,1', 's,"B,1,0,1'), 'a quote is opened'],
    ['a quote within a cell', lines(HEADER, 's,A,1,0,1', 's,B"b",1,0,1'), 'line 3: '],
    [
      'an endless row',
      lines(HEADER, `s,"${'x'.repeat(70_000)}`),
      'line 2: a row is longer than 65536 bytes',
    ],
  ])('is refused with %s', async (_, content, said) => {
    await expect(readRows('a.csv', content)).rejects.toThrow(said)
  })
})

describe('a watch list in YAML', () => {
  const ENTRY = 'list: s, reference: A, flight_id: 1, residents_adults: 0, non_residents_adults: 1'

  it('gives its entries with their lines, and values as they are written', async () => {
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

    expect(rows).toEqual([
      {
        line: 3,
        faults: [],
        cells: {
          list: 's',
          reference: '0012',
          price_threshold_amount: '5.50',
          departs_on: '2026-09-01',
          return_flight_id: '',
        },
      },
      { line: 10, faults: [], cells: { list: 's', reference: 'true', return_flight_id: '' } },
    ])
  })

  it('reads entries beyond the piece that is parsed at a time, with their lines', async () => {
    const entries = Array.from({ length: 1_234 }, (_, i) => `- list: s\n  reference: R${i}\n`)

    const rows = await readRows('a.yml', `# first\n${entries.join('')}`)

    expect(rows).toHaveLength(1_234)
    expect(rows.at(-1)).toMatchObject({ line: 2_468, cells: { reference: 'R1233' } })
  })

  it.each([
    ['in brackets', `[{${ENTRY}}, {${ENTRY.replace('A', 'B')}}]\n`],
    ['that is indented', `  - {${ENTRY}}\n  - {${ENTRY.replace('A', 'B')}}\n`],
    ['with Windows line ends', `- {${ENTRY}}\r\n- {${ENTRY.replace('A', 'B')}}\r\n`],
  ])('reads a list %s', async (_, content) => {
    const rows = await readRows('a.yaml', content)

    expect(rows.map((row) => row.cells.reference)).toEqual(['A', 'B'])
  })

  it('names entries that are none, columns that are none, and values that are several', async () => {
    const said = await wrongIn(
      'a.yaml',
      lines(
        '- just text',
        `- {${ENTRY}, __proto__: 1}`,
        `- {${ENTRY.replace('A', '[A, B]')}}`,
        `- {${ENTRY.replace('A', '"A\\0"')}}`,
        `- {${ENTRY.replace('A', '"A\\ud800"')}}`,
        '-',
      ),
    )

    expect(said).toContain(
      'line 1, the entry: must be columns with values, such as "reference: A-1"',
    )
    expect(said).toContain('line 2, "__proto__": is no column of a watch list')
    expect(said).toContain('line 3, reference: must be a single value')
    expect(said).toContain('line 4, reference: must not hold a NUL character')
    expect(said).toContain('line 5, reference: must not hold half of a surrogate pair')
    expect(said).toContain(
      'line 6, the entry: must be columns with values, such as "reference: A-1"',
    )
  })

  it.each([
    ['nothing in it', '', 'line 1: there must be a list of entries'],
    ['only a comment', '# nothing\n', 'there must be a list of entries'],
    ['no list', 'watches:\n- list: s\n', 'there must be a list of entries'],
    [
      'broken YAML',
      lines('- list: s', '  reference: A', '- list: "s', '  reference: B'),
      'Missing closing "quote, in the entry of line 3',
    ],
    [
      'a column twice',
      lines('- list: s', '  reference: A', '  list: s'),
      'line 3: Map keys must be unique',
    ],
    ['two documents', lines('- list: s', '---', '- list: s'), 'line 2: '],
  ])('is refused with %s', async (_, content, said) => {
    await expect(readRows('a.yaml', content)).rejects.toThrow(said)
  })
})

describe('a file of watches', () => {
  it.each(['a.csv', 'a.yaml'])('is refused where %s is not UTF-8, by its line', async (name) => {
    const bytes = Buffer.concat([Buffer.from('# one\n# two\n# caf'), Buffer.from([0xe9, 0x0a])])

    await expect(readRows(name, bytes)).rejects.toThrow('line 3: is not UTF-8 text')
  })

  it('is refused by its ending, or where there is none', async () => {
    await expect(openWatchFile('a.xlsx')).rejects.toThrow('must end in one of .csv, .yaml, .yml')
    await expect(openWatchFile('/nowhere/a.csv')).rejects.toThrow('there is no such file')
    await expect(openWatchFile(`${await fileOf('a.csv', '')}/../.`)).rejects.toThrow('must end in')
  })

  it('names the second of two rows of one reference, and the first one’s line', async () => {
    expect(await wrongIn('a.csv', lines(HEADER, 's,A,1,0,1', 't,A,1,0,1', 's,A,2,0,1'))).toEqual([
      'line 4, reference: "A" is in the list "s" already, on line 2',
    ])
  })

  it('names the first fifty wrong rows, and counts the rest', async () => {
    const rows = Array.from({ length: 60 }, (_, i) => `s,R${i},1,0,x`)

    const said = await wrongIn('a.csv', lines(HEADER, 's,A,1,0,1', ...rows))

    expect(said).toHaveLength(51)
    expect(said[0]).toMatch(/^line 3, non_residents_adults: /)
    expect(said.at(-1)).toBe('and 10 more wrong rows')
  })
})
