import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { runbookSections } from '../../grafana/source/runbooks.ts'
import { createProgram } from '../../src/cli/program.ts'
import { CALL_OUTCOMES, GOOD_OUTCOMES } from '../../src/upstream/breaker/breaker-signal.ts'
import { hasPrometheus, promtool } from '../support/promtool.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const FOLDER = path.join(ROOT, 'grafana/prometheus')

/** Refusals have their own alerts, and an aborted call has no answer. */
const ALERTED_ELSEWHERE = ['aborted', 'upstream.auth', 'upstream.rate_limited']

interface Rule {
  readonly alert?: string
  readonly expr: string
  readonly for?: string
  readonly labels?: { readonly severity: string }
  readonly annotations?: { readonly summary: string; readonly runbook: string }
}

function readAlerts(): Required<Rule>[] {
  const file = parse(readFileSync(path.join(FOLDER, 'alerts.yml'), 'utf8')) as {
    groups: { rules: Rule[] }[]
  }
  return file.groups
    .flatMap(({ rules }) => rules)
    .filter((rule): rule is Required<Rule> => rule.alert !== undefined)
}

/** Whether a line begins with a farewatch command. A group of commands counts if an option follows directly. */
function isCommand(line: string): boolean {
  const words = line.split(/\s+/)
  let found: Command = createProgram()
  for (const [i, word] of words.entries()) {
    const next = found.commands.find((command) => command.name() === word)
    if (next === undefined) return found.commands.length === 0 || (i > 0 && word.startsWith('--'))
    found = next
  }
  return found.commands.length === 0
}

describe('the alerts', () => {
  const alerts = readAlerts()

  it('fire only after three minutes or more and have a severity', () => {
    for (const alert of alerts) {
      expect(alert.for, alert.alert).toMatch(/^([3-9]|1\d)m$/)
      expect(alert.labels.severity, alert.alert).toMatch(/^(warning|critical)$/)
    }
  })

  it('have one section each in the runbooks, and the runbooks have no other sections', () => {
    const names = alerts.map(({ alert }) => alert)
    expect(names.length).toBeGreaterThanOrEqual(10)
    expect(runbookSections().map(({ title }) => title)).toEqual(expect.arrayContaining(names))
    expect(runbookSections()).toHaveLength(names.length)
    for (const { alert, annotations } of alerts) {
      expect(annotations.runbook).toBe(`docs/reference/runbooks.md#${alert.toLowerCase()}`)
    }
  })

  it('are listed with their severity on the page of metrics', () => {
    const page = readFileSync(path.join(ROOT, 'docs/reference/metrics.md'), 'utf8')
    const rows = [...page.matchAll(/^\| `(\w+)` \| (warning|critical) \|/gm)]
    const documented = rows.map(([, alert, severity]) => ({ alert, severity }))
    const declared = alerts.map(({ alert, labels }) => ({ alert, severity: labels.severity }))
    const byName = (a: { alert?: string | undefined }, b: { alert?: string | undefined }) =>
      (a.alert ?? '').localeCompare(b.alert ?? '')
    expect(documented.toSorted(byName)).toEqual(declared.toSorted(byName))
  })

  it('have runbooks that say what to run, what is healthy and what ends the alert', () => {
    for (const { title, markdown } of runbookSections()) {
      expect(markdown, title).toMatch(/^farewatch /m)
      expect(markdown, title).toMatch(/healthy/)
      for (const word of ['Means', 'Check', 'Do', 'Ends']) {
        expect(markdown, title).toContain(`**${word}`)
      }
    }
  })

  it('have runbooks whose commands all exist', () => {
    const page = readFileSync(path.join(ROOT, 'docs/reference/runbooks.md'), 'utf8')
    const named = [...page.matchAll(/(?:^|`)farewatch ([^`#\n]+)/gm)].map(([, line]) =>
      (line ?? '').trim(),
    )
    expect(named.length).toBeGreaterThan(30)
    const unknown = named.filter((line) => !isCommand(line))
    expect([...new Set(unknown)]).toEqual([])
  })

  it.runIf(hasPrometheus())('and the configuration pass the checks of promtool', () => {
    const rules = promtool(['check', 'rules', 'alerts.yml'], { cwd: FOLDER })
    const config = promtool(['check', 'config', 'prometheus.yml'], { cwd: FOLDER })

    expect(rules, rules.output).toMatchObject({ exit: 0 })
    expect(config, config.output).toMatchObject({ exit: 0 })
  })

  it.runIf(hasPrometheus())('fire and stay silent as alerts.test.yml expects', () => {
    const { exit, output } = promtool(['test', 'rules', 'alerts.test.yml'], { cwd: FOLDER })

    expect(exit, output).toBe(0)
  })

  it('count every outcome as an error that is neither good for the circuit breakers nor a refusal', () => {
    const { expr = '' } = alerts.find(({ alert }) => alert === 'UpstreamErrors') ?? {}
    const [, left = ''] = /outcome!~"([^"]+)"/.exec(expr) ?? []
    const silent = CALL_OUTCOMES.filter((outcome) => new RegExp(`^(?:${left})$`).test(outcome))
    expect(new Set(silent)).toEqual(new Set([...GOOD_OUTCOMES, ...ALERTED_ELSEWHERE]))
  })

  it('each have a test', () => {
    const tests = readFileSync(path.join(FOLDER, 'alerts.test.yml'), 'utf8')
    const untested = alerts.filter(({ alert }) => !tests.includes(`alertname="${alert}"`))
    expect(untested.map(({ alert }) => alert)).toEqual([])
  })
})
