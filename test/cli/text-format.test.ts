import { describe, expect, it } from 'vitest'
import {
  csvText,
  hasColours,
  printable,
  recordText,
  table,
  tableText,
} from '../../src/cli/text/text-format.ts'
import { resultText } from '../../src/cli/work/database.ts'
import type { QueryResult } from '../../src/platform/db/analyst-session.ts'

it.each([
  ['an escape sequence', 'a\u001b[31mred', 'a [31mred'],
  ['line ends and tabs', 'a\r\nb\tc', 'a  b c'],
  ['NUL, backspace and delete', 'a\0\b\u007fb', 'a   b'],
  ['the second set of controls', 'a\u0085\u009b31mb', 'a  31mb'],
  ['separators of lines', 'a\u2028b\u2029c', 'a b c'],
  ['directions', '\u202eabc\u202c \u2066def\u2069\u200eb\u200fc\u061cd', ' abc   def  b c d'],
  ['nothing that is only text', 'São القاهرة 東京 👩‍✈️ – [x]', 'São القاهرة 東京 👩‍✈️ – [x]'],
])('text from outside is printed without %s', (_what, text, expected) => {
  expect(printable(text)).toBe(expected)
  expect(recordText({ a: text }, 80)).toBe(`a  ${expected}`.trimEnd())
})

describe('a record', () => {
  const RECORD = {
    fareId: 12_345,
    watchers: 12_345,
    isStale: false,
    endedAt: null,
    heldSince: '2026-01-31T12:00:00.123Z',
    price: { amount: '99.50', currency: 'EUR' },
    last: { legs: { outbound: { flight: { at: 1 } } }, price: { amount: '9', currency: 'EUR' } },
    lists: [],
    rows: [
      { id: 1_234, until: '2026-01-31T12:00:00Z', note: null },
      { id: 5, until: null, note: null },
    ],
  }
  const HEAD = [
    'fare id     12345',
    'watchers    12,345',
    'is stale    no',
    'held since  2026-01-31 12:00:00 UTC',
    'price       99.50 EUR',
    'last        legs outbound flight …, price 9 EUR',
    'lists       none',
    '',
    'rows:',
  ]

  it('has a line a member, and a table for a list of objects without the columns that are empty', () => {
    expect(recordText(RECORD, 80).split('\n')).toEqual([
      ...HEAD,
      'id    until, UTC',
      '────  ───────────────────',
      '1234  2026-01-31 12:00:00',
      '5',
    ])
  })

  it('has its lists as records where a table would be wider than the screen', () => {
    const lines = recordText(RECORD, 24).split('\n')

    expect(lines.slice(lines.indexOf('rows:'))).toEqual([
      'rows:',
      'id     1234',
      'until  2026-01-31 12:00:00',
      '       UTC',
      '',
      'id  5',
    ])
  })
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

  it('leaves out the last columns where texts of twelve characters do not fit, and names them', () => {
    const rows = [['7', 'with-availability', '2026-01-31 12:00:00', 'a sentence that is long']]

    const lines = (room: number) => table(['run', 'list', 'at', 'about'], rows, room).split('\n')

    expect(lines(52).slice(2)).toEqual(['7    with-availa…  2026-01-31 12:00:00  a sentence …'])
    expect(lines(51).slice(2)).toEqual([
      '7    with-availability  2026-01-31 12:00:00',
      '(--wide shows also: about)',
    ])
    expect(lines(10).slice(2)).toEqual(['7', '(--wide shows also: list; at; about)'])
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

it('rows as CSV have a column for each member, those of objects by the names of both', () => {
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
  it('is a table, or one line of JSON per row', () => {
    const lines = [
      'city          routes  live',
      '────────────  ──────  ────',
      'Palma, "PMI"  12      t',
    ]
    expect(resultText(ANSWER, {}).split('\n')).toEqual([...lines, '', ''])
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
