import { expect, it } from 'vitest'
import { csvText } from '../../src/history/export-tables.ts'

it('an exported row quotes what a reader would misread, and a null differs from an empty text', () => {
  const rows = [
    ['a b', null, ''],
    ['1,5', 'say "hi"', 'two\nlines'],
  ]

  expect(csvText(rows)).toBe('a b,,""\n"1,5","say ""hi""","two\nlines"\n')
})
