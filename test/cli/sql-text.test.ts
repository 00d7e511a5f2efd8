import { describe, expect, it } from 'vitest'
import { resultText } from '../../src/cli/commands/database-commands.ts'
import type { QueryResult } from '../../src/platform/db/analyst-session.ts'

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

  it('is CSV with headings for --csv', () => {
    expect(resultText(ANSWER, { csv: true })).toBe('city,routes,live\n"Palma, ""PMI""",12,t\n,,\n')
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

  it('is empty for --json without rows', () => {
    expect(resultText({ ...ANSWER, rows: [] }, { json: true })).toBe('')
  })

  it.each([
    ['12', '12'],
    ['-0.5', '-0.5'],
    ['1e+300', '1e+300'],
    ['9007199254740991', '9007199254740991'],
    ['9007199254740993', '"9007199254740993"'],
    ['-9007199254740993', '"-9007199254740993"'],
    ['NaN', '"NaN"'],
    ['Infinity', '"Infinity"'],
    ['-Infinity', '"-Infinity"'],
  ])('has the number %s in JSON as %s', (text, expected) => {
    const answer: QueryResult = { columns: [{ name: 'n', kind: 'number' }], rows: [[text]] }

    const line = resultText(answer, { json: true })

    expect(line).toBe(`{"n":${expected}}\n`)
    expect(() => JSON.parse(line) as unknown).not.toThrow()
  })

  it('is an error for --json with two columns of one name', () => {
    const column = { name: 'id', kind: 'number' as const }
    const answer = { columns: [column, column], rows: [['1', '2']] }

    expect(() => resultText(answer, { json: true })).toThrow('two columns are named "id"')
    expect(resultText(answer, { csv: true })).toBe('id,id\n1,2\n')
  })

  it('has any column name escaped in JSON', () => {
    const answer: QueryResult = { columns: [{ name: 'a"\n', kind: 'text' }], rows: [['x']] }

    expect(JSON.parse(resultText(answer, { json: true }))).toEqual({ 'a"\n': 'x' })
  })
})
