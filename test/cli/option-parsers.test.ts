import { InvalidArgumentError } from 'commander'
import { describe, expect, it } from 'vitest'
import {
  durationOption,
  instantOption,
  integerOption,
  laterOption,
  numberOption,
} from '../../src/cli/option-parsers.ts'

const PARSERS: readonly (readonly [
  kind: string,
  parse: (text: string) => unknown,
  accepted: Readonly<Record<string, unknown>>,
  rejected: readonly string[],
  says: string,
])[] = [
  [
    'a whole number',
    integerOption(0, 65_535),
    { 0: 0, 65535: 65_535, '0080': 80 },
    ['', ' ', '1.0', '1e3', '0x10', ' 5', '5 ', '+5', '-1', '65536', 'all', 'NaN', '٥'],
    'It must be a whole number from 0 to 65535.',
  ],
  [
    'a number',
    numberOption(0, 1_000_000),
    { 0: 0, '0.5': 0.5, '1000.000001': 1_000.000001 },
    ['', '.5', '5.', '1e3', '-1', '1000001', 'Infinity', '1,5'],
    'It must be a number from 0 to 1000000.',
  ],
  [
    'a length of time',
    durationOption(1, 30 * 86_400),
    { '90s': 90, '5m': 300, '1.5h': 5_400, '30d': 2_592_000 },
    ['', '5', '5 m', 'm', '-5m', '0s', '31d', '5min', '1e3s', '5M', '٥m'],
    'such as 90s or 5m, from 1s to 30d.',
  ],
  [
    'an instant',
    (text) => instantOption(text).toISOString(),
    {
      '2026-01-31': '2026-01-31T00:00:00.000Z',
      '2028-02-29': '2028-02-29T00:00:00.000Z',
      '2026-01-31T12:00Z': '2026-01-31T12:00:00.000Z',
      '2026-01-31T12:00:30+02:00': '2026-01-31T10:00:30.000Z',
      '2026-01-31T12:00:30.123456Z': '2026-01-31T12:00:30.123Z',
    },
    [
      ...['', 'yesterday', '2026', '2026-1-31', '31.01.2026', '2026-01-31 12:00:00'],
      ...['2026-01-31T12:00:00', '2026-01-31T12Z', '2026-13-01', '2026-02-30', '1767225600'],
      ...['2026-02-29T12:00:00Z', '2026-04-31T12:00:00+02:00', '2026-01-31T25:00:00Z'],
    ],
    'such as 2026-01-31T12:00:00Z, or a date',
  ],
  ['a later instant', laterOption, {}, ['soon'], 'such as 2026-01-31T12:00:00Z, or a time'],
]

describe.each(PARSERS)('an option that is %s', (_kind, parse, accepted, rejected, says) => {
  it('is read, or rejected with what it accepts', () => {
    for (const [text, value] of Object.entries(accepted)) expect(parse(text), text).toEqual(value)
    for (const text of rejected) {
      expect(() => parse(text), text).toThrow(InvalidArgumentError)
      expect(() => parse(text), text).toThrow(says)
    }
  })
})
