import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'

const TEST = path.resolve(import.meta.dirname, '..')
const PAGE = path.join(TEST, 'faults/faults.md')
const FAULTS = 130

interface Shown {
  readonly file: string
  readonly titles: readonly string[]
}

/** Numbered rows of the table, with the tests that each names: a file below test/, then titles of it in quotes. */
const rows = readFileSync(PAGE, 'utf8')
  .split('\n')
  .flatMap((line) => {
    const number = /^\| (\d+) \|/.exec(line)?.[1]
    return number === undefined ? [] : [{ number: Number(number), shown: shownBy(line) }]
  })

function shownBy(line: string): Shown[] {
  return line
    .split(/(?=`[\w/.-]+\.(?:ts|yml)`)/)
    .slice(1)
    .map((part) => ({
      file: /^`([^`]+)`/.exec(part)?.[1] ?? '',
      titles: [...part.matchAll(/"([^"]+)"/g)].map(([, title]) => title ?? ''),
    }))
}

describe('the page of faults', () => {
  it('has a row for each, and each names a test', () => {
    expect(rows.map(({ number }) => number)).toEqual(
      Array.from({ length: FAULTS }, (_, i) => i + 1),
    )
    expect(rows.filter(({ shown }) => shown.length === 0)).toEqual([])
  })

  it.each(rows.flatMap(({ number, shown }) => shown.map((one) => ({ number, ...one }))))(
    'names tests of $file for fault $number that are there',
    ({ file, titles }) => {
      const text = readFileSync(path.join(TEST, file), 'utf8')

      expect(titles.length).toBeGreaterThan(0)
      expect(titles.filter((title) => !text.includes(title))).toEqual([])
    },
  )
})
