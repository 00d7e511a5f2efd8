import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import path from 'node:path'
import jsTokens from 'js-tokens'

/** Numbers of tokens, by room. */
export type Sizes = Readonly<Record<string, number>>

/** Lock files, licences, pictures, the table of airports, generated files, and the test of the generated dashboards. */
const LEFT_OUT = [
  /(^|\/)(package-lock\.json|LICENSE|airports\.csv)$/,
  /\.(png|svg)$/,
  /^docs\/(events\/|reference\/(openapi\.json|contract-1\.txt)$|analytics\/dbt\/sources\.yml$)/,
  /^(test\/)?grafana\/dashboards/,
  /^test\/faults\/faults\.md$/,
  /^grafana\/prometheus\/alerts\.yml$/,
  /^src\/(app\/api-examples\.json|platform\/db\/tables\.ts)$/,
]

/**
 * Counts the tokens of each room of a checkout: the folders and files at its top, and those in `src`. Code counts without
 * types and comments, so what explains it costs nothing; other text counts by its words.
 */
export function sizesOf(root: string): Sizes {
  const sizes: Record<string, number> = {}
  const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' })
  for (const file of tracked.trim().split('\n')) {
    if (!existsSync(path.join(root, file)) || LEFT_OUT.some((names) => names.test(file))) continue
    const size = tokensOf(file, readFileSync(path.join(root, file), 'utf8'))
    for (const room of roomsOf(file)) sizes[room] = (sizes[room] ?? 0) + size
  }
  return sizes
}

/** Says of each room that has more than its budget how much it has. A room without a budget has one of 0. */
export function overBudget(sizes: Sizes, budgets: Sizes): string[] {
  return Object.entries(sizes).flatMap(([room, size]) => {
    const budget = budgets[room] ?? 0
    return size > budget ? [`${room} has ${size} tokens, its budget in size.json is ${budget}`] : []
  })
}

/** Lowers each budget to the size of its room, rounded up to a hundred. A budget below that stays: only a person raises one. */
export function lowerBudgets(sizes: Sizes, budgets: Sizes): Sizes {
  return Object.fromEntries(
    Object.entries(budgets)
      .filter(([room]) => room in sizes)
      .map(([room, budget]) => [room, Math.min(budget, Math.ceil((sizes[room] ?? 0) / 100) * 100)]),
  )
}

function roomsOf(file: string): string[] {
  const [top = '', second] = file.split('/')
  return top === 'src' ? [top, `${top}/${second}`] : [top]
}

/** A string or a template counts once, and once for each of its words. */
function tokensOf(file: string, text: string): number {
  if (!/\.(ts|js|mjs)$/.test(file)) return wordsOf(text)
  let tokens = 0
  for (const { type, value } of jsTokens(
    file.endsWith('.ts') ? stripTypeScriptTypes(text) : text,
  )) {
    if (/^(WhiteSpace|LineTerminatorSequence|.*Comment)$/.test(type)) continue
    tokens += 1 + (/String|Template/.test(type) ? wordsOf(value) : 0)
  }
  return tokens
}

function wordsOf(text: string): number {
  return text.trim().split(/\s+/).length
}
