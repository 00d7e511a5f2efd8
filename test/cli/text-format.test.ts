import { describe, expect, it } from 'vitest'
import {
  count,
  countOf,
  megabytes,
  printable,
  seconds,
  table,
} from '../../src/cli/text/text-format.ts'

describe('a formatted number', () => {
  it('has thousands separators, and is a dash for null', () => {
    expect([34_354, 999, 0, -1_000, null].map(count)).toEqual(['34,354', '999', '0', '-1,000', '-'])
  })

  it('has its noun in singular or plural', () => {
    expect([0, 1, 2, 1_000].map((n) => countOf(n, 'route'))).toEqual([
      'no routes',
      '1 route',
      '2 routes',
      '1,000 routes',
    ])
  })

  it('has its unit', () => {
    expect(megabytes(178_249_000)).toBe('178.2 MB')
    expect(megabytes(0)).toBe('0.0 MB')
    expect(seconds(1_499)).toBe('1.5 s')
  })
})

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

  it('has only its headings if there are no rows', () => {
    expect(table(['a', 'long'], [])).toBe('a  long\n─  ────')
  })

  it('has no control characters in its cells and headings', () => {
    expect(table(['a\u001b[2J'], [['b\u202ec\nd']])).toBe('a [2J\n─────\nb c d')
  })

  it('may be long', () => {
    const rows = Array.from({ length: 200_000 }, (_, i) => [String(i)])

    expect(table(['n'], rows).split('\n')).toHaveLength(200_002)
  })
})
