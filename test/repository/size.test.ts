import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import budgets from './size.json' with { type: 'json' }
import { lowerBudgets, overBudget, sizesOf } from './size.ts'

const FARE = `// How a fare of ours is shown.
interface Fare {
  readonly id: string
}
export const shown = (fare: Fare) => \`fare \${fare.id}\`
`

/** A checkout with the given tracked files. */
function checkout(files: Record<string, string>): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'farewatch-size-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    writeFileSync(path.join(folder, name), text)
  }
  execFileSync('git', ['init', '-q'], { cwd: folder })
  execFileSync('git', ['add', '-A'], { cwd: folder })
  return folder
}

it('no room has more tokens than its budget', () => {
  const over = overBudget(sizesOf(path.join(import.meta.dirname, '../..')), budgets)

  expect(over, 'a budget is raised by hand, with the reason in the commit').toEqual([])
})

describe('the size of a checkout', () => {
  it('is counted by room, without types, comments and generated files', () => {
    const folder = checkout({
      'src/fares/show.ts': FARE,
      'src/page/show.js': 'show("sold out")',
      'docs/start.md': '# Start\n\nnpm start\n',
      'src/platform/db/tables.ts': FARE,
      'package-lock.json': '{ }',
    })
    writeFileSync(path.join(folder, 'docs/draft.md'), 'not tracked')

    // export const shown = ( fare ) => `fare ${ fare . id }`: the template's ends have two words and one.
    expect(sizesOf(folder)).toEqual({ src: 22, 'src/fares': 16, 'src/page': 6, docs: 4 })
  })

  it('fails for a room that has more than its budget, and for a room without one', () => {
    const sizes = sizesOf(checkout({ 'src/fares/show.ts': FARE, 'docs/start.md': 'npm start' }))

    expect(overBudget(sizes, { src: 16, 'src/fares': 15 })).toEqual([
      'docs has 2 tokens, its budget in size.json is 0',
      'src/fares has 16 tokens, its budget in size.json is 15',
    ])
  })

  it('lowers budgets to it and raises none', () => {
    const sizes = { src: 950, docs: 210, test: 100 }

    expect(lowerBudgets(sizes, { src: 2000, docs: 200, gone: 5 })).toEqual({ src: 1000, docs: 200 })
  })
})
