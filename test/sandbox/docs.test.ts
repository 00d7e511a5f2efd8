import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseFaultText, readRules } from '../../sandbox/faults/fault-rule.ts'

const page = readFileSync(
  path.resolve(import.meta.dirname, '../../docs/reference/sandbox.md'),
  'utf8',
)

describe('the page about the sandbox', () => {
  it('has working rules of the command line', () => {
    const given = [...page.matchAll(/--fault (\S+)/g)].map(([, text = '']) => text)
    const examples = given.filter((text) => text.includes(':') && !text.startsWith('NAME'))

    expect(examples.length).toBeGreaterThan(1)
    expect(() => readRules(examples.map(parseFaultText))).not.toThrow()
  })

  it('has working rules in JSON', () => {
    const [, json = ''] = /```json\n(.*?)```/s.exec(page) ?? []

    expect(readRules(JSON.parse(json)).length).toBe(2)
  })
})
