import { InvalidArgumentError } from 'commander'
import { describe, expect, it } from 'vitest'
import {
  durationOption,
  instantOption,
  integerOption,
  laterOption,
  numberOption,
} from '../../src/cli/option-parsers.ts'

describe('an option that is a whole number', () => {
  it.each([
    ['0', 0],
    ['65535', 65_535],
    ['0080', 80],
  ])('accepts %s', (text, value) => {
    expect(integerOption(0, 65_535)(text)).toBe(value)
  })

  it.each(['', ' ', '1.0', '1e3', '0x10', ' 5', '5 ', '+5', '-1', '65536', 'all', 'NaN', '٥'])(
    'rejects "%s" and says what it accepts',
    (text) => {
      const parse = () => integerOption(0, 65_535)(text)

      expect(parse).toThrow(InvalidArgumentError)
      expect(parse).toThrow('It must be a whole number from 0 to 65535.')
    },
  )
})

describe('an option that is a number', () => {
  it.each([
    ['0', 0],
    ['0.5', 0.5],
    ['1000.000001', 1_000.000001],
  ])('accepts %s', (text, value) => {
    expect(numberOption(0, 1_000_000)(text)).toBe(value)
  })

  it.each(['', '.5', '5.', '1e3', '-1', '1000001', 'Infinity', '1,5'])('rejects "%s"', (text) => {
    expect(() => numberOption(0, 1_000_000)(text)).toThrow('It must be a number from 0 to 1000000.')
  })
})

describe('an option that is a length of time', () => {
  it.each([
    ['90s', 90],
    ['5m', 300],
    ['1.5h', 5_400],
    ['30d', 2_592_000],
  ])('accepts %s', (text, seconds) => {
    expect(durationOption(1, 30 * 86_400)(text)).toBe(seconds)
  })

  it.each(['', '5', '5 m', 'm', '-5m', '0s', '31d', '5min', '1e3s', '5M', '٥m'])(
    'rejects "%s" and says what it accepts',
    (text) => {
      const parse = () => durationOption(1, 30 * 86_400)(text)

      expect(parse).toThrow(InvalidArgumentError)
      expect(parse).toThrow('such as 90s or 5m, from 1s to 30d.')
    },
  )
})

describe('an option that is an instant', () => {
  it.each([
    ['2026-01-31', '2026-01-31T00:00:00.000Z'],
    ['2028-02-29', '2028-02-29T00:00:00.000Z'],
    ['2026-01-31T12:00Z', '2026-01-31T12:00:00.000Z'],
    ['2026-01-31T12:00:30+02:00', '2026-01-31T10:00:30.000Z'],
    ['2026-01-31T12:00:30.123456Z', '2026-01-31T12:00:30.123Z'],
  ])('accepts %s', (text, instant) => {
    expect(instantOption(text).toISOString()).toBe(instant)
  })

  it.each([
    '',
    'yesterday',
    '2026',
    '2026-1-31',
    '31.01.2026',
    '2026-01-31 12:00:00',
    '2026-01-31T12:00:00',
    '2026-01-31T12Z',
    '2026-13-01',
    '2026-02-30',
    '2026-02-29T12:00:00Z',
    '2026-04-31T12:00:00+02:00',
    '2026-01-31T25:00:00Z',
    '1767225600',
  ])('rejects "%s" and shows what it accepts', (text) => {
    expect(() => instantOption(text)).toThrow(InvalidArgumentError)
    expect(() => instantOption(text)).toThrow(/such as 2026-01-31T12:00:00Z, or a date/)
    expect(() => laterOption(text)).toThrow(/such as 2026-01-31T12:00:00Z, or a time .* as 2h/)
  })
})
