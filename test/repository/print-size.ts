/** `npm run size`: prints the tokens and the budget of each room. With `--write` it lowers the budgets to them. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import budgets from './size.json' with { type: 'json' }
import { lowerBudgets, type Sizes, sizesOf } from './size.ts'

const sizes = sizesOf(path.join(import.meta.dirname, '../..'))
let kept: Sizes = budgets
if (process.argv.includes('--write')) {
  kept = lowerBudgets(sizes, budgets)
  writeFileSync(path.join(import.meta.dirname, 'size.json'), `${JSON.stringify(kept, null, 2)}\n`)
}
const lines = Object.entries(sizes)
  .toSorted(([, a], [, b]) => b - a)
  .map(([room, size]) => {
    const columns = [size, kept[room] ?? 0].map((tokens) => String(tokens).padStart(8))
    return `${columns.join('')}  ${room}\n`
  })
process.stdout.write(lines.join(''))
