import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { FAULT_NAMES, FAULTS, parseFaultText, readRules } from '../../sandbox/faults/fault-rule.ts'

const page = readFileSync(
  path.resolve(import.meta.dirname, '../../docs/reference/sandbox.md'),
  'utf8',
)

/** The lines of faults, by their names. */
const lines = new Map(
  [...page.matchAll(/^- `([a-z0-9-]+)`, .+: .+$/gm)].map(([line, name = '']) => [name, line]),
)

describe('the page about the sandbox', () => {
  it('has a line for every fault', () => {
    expect(new Set(lines.keys())).toEqual(new Set(FAULT_NAMES))
  })

  it.each(FAULT_NAMES)('names the parameters of %s', (name) => {
    const parameters = Object.keys(FAULTS[name].parameters)

    expect(parameters.filter((one) => !lines.get(name)?.includes(`\`${one}\``))).toEqual([])
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
