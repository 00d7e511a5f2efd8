import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { DANGERS } from './fault-case.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')

interface Row {
  readonly danger: string
  /** Files below test/. */
  readonly files: readonly string[]
}

function readRows(): Row[] {
  const page = readFileSync(path.join(ROOT, 'test/faults/faults.md'), 'utf8')
  const section = page.split('## What goes wrong')[1] ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('| '))
  return rows.slice(1).map((line) => {
    const [, danger = '', , shown = ''] = line.split('|').map((cell) => cell.trim())
    return { danger, files: [...shown.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file) }
  })
}

describe('the table of what goes wrong in the upstream', () => {
  it('has one row for each danger', () => {
    expect(readRows().map(({ danger }) => danger)).toEqual(DANGERS)
  })

  it.for(readRows())('names existing tests: $danger', ({ files }) => {
    expect(files.length).toBeGreaterThan(0)
    expect(files.filter((file) => !existsSync(path.join(ROOT, 'test', file)))).toEqual([])
  })
})
