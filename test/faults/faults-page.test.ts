import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'

const TEST = path.resolve(import.meta.dirname, '..')
const PAGE = path.join(TEST, 'faults/faults.md')
const FAULTS = 130

interface Shown {
  readonly file: string
  readonly titles: readonly string[]
}

const text = readFileSync(PAGE, 'utf8')
const isRow = (line: string) => line.startsWith('| ')

/** Numbered rows of the table, with the tests that each names: a file below test/, then titles of it in quotes. */
const rows = text.split('\n').flatMap((line) => {
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

  it('names files and titles of tests that are there', () => {
    const missing = rows.flatMap(({ number, shown }) =>
      shown.flatMap(({ file, titles }) => {
        const text = readFileSync(path.join(TEST, file), 'utf8')
        expect([number, file, titles.length > 0]).toEqual([number, file, true])
        return titles.filter((title) => !text.includes(title)).map((title) => [number, title])
      }),
    )

    expect(missing).toEqual([])
  })

  it('names files of tests for each danger of the upstream that are there', () => {
    const dangers = text.split('## What goes wrong')[1]?.split('\n').filter(isRow).slice(1) ?? []
    const named = dangers.map((row) =>
      [...row.matchAll(/`([^`]+\.ts)`/g)].map(([, file = '']) => file),
    )

    expect(dangers.length).toBeGreaterThan(10)
    expect(dangers.filter((_, i) => named[i]?.length === 0)).toEqual([])
    expect(named.flat().filter((file) => !existsSync(path.join(TEST, file)))).toEqual([])
  })
})
