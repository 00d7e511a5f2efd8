import { describe, expect, it } from 'vitest'
import { csvText, hasColours, printable, table, tableText } from '../../src/cli/text/text-format.ts'
import { resultText } from '../../src/cli/work/database.ts'
import type { QueryResult } from '../../src/platform/db/analyst-session.ts'

describe('text from outside', () => {
  it.each([
    ['an escape sequence', 'a\u001b[31mred', 'a [31mred'],
    ['line ends and tabs', 'a\r\nb\tc', 'a  b c'],
    ['NUL, backspace and delete', 'a\0\b\u007fb', 'a   b'],
    ['the second set of controls', 'a\u0085\u009b31mb', 'a  31mb'],
    ['separators of lines', 'a\u2028b\u2029c', 'a b c'],
    ['embedded and isolated directions', '\u202eabc\u202c \u2066def\u2069', ' abc   def '],
    ['marks of direction', 'a\u200eb\u200fc\u061cd', 'a b c d'],
  ])('is printed without %s', (_what, text, expected) => {
    expect(printable(text)).toBe(expected)
  })

  it.each(['São Tomé', 'القاهرة', '東京', '👩‍✈️', 'a – b', '[redacted]'])(
    'is printed as it is where it is only text: %s',
    (text) => {
      expect(printable(text)).toBe(text)
    },
  )
})

describe('a table', () => {
  it('has columns aligned with their headings and no spaces at the ends of lines', () => {
    const text = table(
      ['id', 'city', ''],
      [
        ['1', 'Palma', 'x'],
        ['12345', null, ''],
      ],
    )

    expect(text.split('\n')).toEqual(['id     city', '─────  ─────  ─', '1      Palma  x', '12345'])
  })

  it('has numbers with groups, instants as seconds, and their zone in the heading', () => {
    const rows = [{ name: 'a', fares: 12_345, at: '2026-01-31T12:00:00.123Z', kinds: ['x', 'y'] }]

    const text = tableText({ fare: 'name', count: 'fares', at: 'at', kinds: 'kinds' }, rows)

    expect(text.split('\n')).toEqual([
      'fare  count   at, UTC              kinds',
      '────  ──────  ───────────────────  ─────',
      'a     12,345  2026-01-31 12:00:00  x, y',
    ])
  })
})

describe('rows as CSV', () => {
  it('have a column for each member, those of objects by the names of both', () => {
    const rows = [
      { id: 1, price: { amount: '9.50', currency: 'EUR' }, at: new Date(0) },
      { id: 2, price: null, lists: ['a, b'] },
    ]

    expect(csvText(rows).split('\n')).toEqual([
      'id,price.amount,price.currency,at,price,lists',
      '1,9.50,EUR,1970-01-01T00:00:00.000Z,,',
      '2,,,,,"[""a, b""]"',
    ])
  })
})

describe('a stream', () => {
  it.each([
    [{ isTTY: true, hasColors: () => true }, true],
    [{ isTTY: true, hasColors: () => false }, false],
    [{ isTTY: false }, false],
  ])('%o takes colours: %s', (stream, expected) => {
    expect(hasColours(stream)).toBe(expected)
  })
})

const ANSWER: QueryResult = {
  columns: [
    { name: 'city', kind: 'text' },
    { name: 'routes', kind: 'number' },
    { name: 'live', kind: 'boolean' },
  ],
  rows: [
    ['Palma, "PMI"', '12', 't'],
    [null, null, null],
  ],
}

describe('the result of a query', () => {
  it('is a table', () => {
    expect(resultText(ANSWER, {})).toBe(
      [
        'city          routes  live',
        '────────────  ──────  ────',
        'Palma, "PMI"  12      t',
        '',
        '',
      ].join('\n'),
    )
  })

  it('is one line of JSON per row for --json', () => {
    expect(resultText(ANSWER, { json: true })).toBe(
      '{"city":"Palma, \\"PMI\\"","routes":12,"live":true}\n{"city":null,"routes":null,"live":null}\n',
    )
  })

  it.each([
    ['2026-01-31 12:00:00+00', '2026-01-31T12:00:00Z'],
    ['2026-01-31 12:00:00.25+05:30', '2026-01-31T12:00:00.25+05:30'],
    ['2026-01-31 12:00:00-03', '2026-01-31T12:00:00-03:00'],
    ['2026-01-31 12:00:00', '2026-01-31T12:00:00'],
    ['infinity', 'infinity'],
  ])('has the instant %s in JSON as %s', (text, expected) => {
    const answer: QueryResult = { columns: [{ name: 'at', kind: 'instant' }], rows: [[text]] }

    expect(resultText(answer, { json: true })).toBe(`{"at":"${expected}"}\n`)
    expect(resultText(answer, { csv: true })).toBe(`at\n${text}\n`)
  })
})
