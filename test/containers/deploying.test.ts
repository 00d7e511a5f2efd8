import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { COMPOSE, COMPOSE_TEXT, ROOT, SERVICES, variablesOf } from './compose-file.ts'

const page = readFileSync(path.join(ROOT, 'docs/reference/deploying.md'), 'utf8')

/** The code in the first column of the page's tables. */
const firstCells = page
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .flatMap((line) =>
    [...(line.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map((match) => match[1]),
  )

/** The words of every compose command of the page. A backslash at the end of a line continues it. */
const commands = [
  ...page.replaceAll('\\\n', ' ').matchAll(/^docker compose (.+?)(?: +#.*)?$/gm),
].map((match) => (match[1] ?? '').split(/\s+/))

describe('the page about deploying', () => {
  it('lists every service and every secret', () => {
    const secrets = Object.values(COMPOSE.secrets).map(({ file }) => path.basename(file))

    expect(firstCells).toEqual(expect.arrayContaining(SERVICES.map(([name]) => name)))
    expect(firstCells).toEqual(expect.arrayContaining(secrets))
  })

  it('lists every variable that is not a setting', () => {
    const ofStack = variablesOf(COMPOSE_TEXT).filter((name) => name !== 'UPSTREAM_BASE_URL')

    expect(firstCells).toEqual(expect.arrayContaining(ofStack))
  })

  it('runs commands only in services that exist', () => {
    const entered = commands
      .filter(([verb]) => verb === 'exec' || verb === 'run')
      .map((words) => words.slice(1).find((word) => !word.startsWith('-')))

    expect(entered.length).toBeGreaterThan(8)
    expect(entered.filter((name) => !SERVICES.some(([service]) => service === name))).toEqual([])
  })
})
