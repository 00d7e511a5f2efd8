import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { FAULT_NAMES, FAULTS, parseFaultText, readRules } from '../../sandbox/faults/fault-rule.ts'

const page = readFileSync(
  path.resolve(import.meta.dirname, '../../docs/reference/sandbox.md'),
  'utf8',
)

/** The rows of the table of faults: name, what, where, parameters. */
const rows = page
  .split('\n')
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .filter((cells) => cells.length === 6 && cells[1]?.startsWith('`'))

describe('the page about the sandbox', () => {
  it('has one row for every fault', () => {
    const names = rows.map((cells) => cells[1]?.replaceAll('`', ''))

    expect(names.length).toBe(FAULT_NAMES.length)
    expect(new Set(names)).toEqual(new Set(FAULT_NAMES))
  })

  it.each(FAULT_NAMES)('names the parameters of %s', (name) => {
    const row = rows.find((cells) => cells[1] === `\`${name}\``) ?? []
    const named = Object.keys(FAULTS[name].parameters).filter((one) =>
      row[4]?.includes(`\`${one}\``),
    )
    expect(named).toEqual(Object.keys(FAULTS[name].parameters))
  })

  it('has working rules of the command line', () => {
    const given = [...page.matchAll(/--fault (\S+)/g)].map(([, text = '']) => text)
    const examples = given.filter((text) => text.includes(':') && !text.startsWith('NAME'))

    expect(examples.length).toBeGreaterThan(1)
    expect(() => readRules(examples.map(parseFaultText))).not.toThrow()
  })

  it('has working rules in JSON', () => {
    const [, json = ''] = /faults.json <<END\n([^`]*?)END\n/.exec(page) ?? []

    expect(readRules(JSON.parse(json)).length).toBe(2)
  })
})
