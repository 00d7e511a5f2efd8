import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { DANGERS } from './fault-case.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')

interface Row {
  readonly danger: string
  /** Files below test/, each with parts of the titles of its tests. */
  readonly shown: readonly (readonly [string, readonly string[]])[]
}

function readRows(): Row[] {
  const page = readFileSync(path.join(ROOT, 'docs/reference/upstream.md'), 'utf8')
  const section = page.split('## What goes wrong')[1] ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('| '))
  return rows.slice(1).map((line) => {
    const [, danger = '', , shown = ''] = line.split('|').map((cell) => cell.trim())
    return { danger, shown: readShown(shown) }
  })
}

/** `file`: title · title · `file`: title */
function readShown(cell: string): Row['shown'] {
  const parts = cell.split(/`([^`]+)`: /).slice(1)
  return parts.flatMap((file, at) => {
    if (at % 2 === 1) return []
    const titles = (parts[at + 1] ?? '').split(' · ').map((title) => title.trim())
    return [[file, titles.filter((title) => title !== '' && !title.startsWith('['))]] as const
  })
}

describe('the page about the upstream', () => {
  it('has one row for each danger', () => {
    expect(readRows().map(({ danger }) => danger)).toEqual(DANGERS)
  })

  it.for(readRows())('names existing tests: $danger', ({ shown }) => {
    expect(shown.length).toBeGreaterThan(0)
    for (const [file, titles] of shown) {
      const text = readFileSync(path.join(ROOT, 'test', file), 'utf8')
      for (const title of titles) expect(text).toContain(title)
    }
  })
})
