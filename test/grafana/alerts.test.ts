import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { API_OPERATIONS } from '../../src/app/api-operations.ts'
import { PROBLEMS } from '../../src/platform/http/problem-codes.ts'
import { CALL_OUTCOMES, GOOD_OUTCOMES } from '../../src/upstream/upstream-errors.ts'
import { amtool, hasAmtool, hasPrometheus, promtool } from '../support/promtool.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const FOLDER = path.join(ROOT, 'grafana/prometheus')

/** Refusals have their own alerts, and an aborted call has no answer. */
const ALERTED_ELSEWHERE = ['aborted', 'upstream.auth', 'upstream.rate_limited']

interface Rule {
  readonly alert?: string
  readonly expr: string
  readonly for?: string
  readonly labels?: { readonly severity: string }
  readonly annotations?: {
    readonly summary: string
    readonly description: string
    readonly runbook_url: string
  }
}

function readRules(): Rule[] {
  const file = parse(readFileSync(path.join(FOLDER, 'alerts.yml'), 'utf8')) as {
    groups: { rules: Rule[] }[]
  }
  return file.groups.flatMap(({ rules }) => rules)
}

function readAlerts(): Required<Rule>[] {
  return readRules().filter((rule): rule is Required<Rule> => rule.alert !== undefined)
}

describe('the alerts', () => {
  const alerts = readAlerts()

  it('fire only after three minutes or more and have a severity', () => {
    for (const alert of alerts) {
      expect(alert.for, alert.alert).toMatch(/^([3-9]|1\d)m$/)
      expect(alert.labels.severity, alert.alert).toMatch(/^(warning|critical)$/)
    }
  })

  it.runIf(hasAmtool())(
    'reach a receiver in the example for Alertmanager, critical ones another',
    () => {
      const check = amtool(['check-config', 'alertmanager.yml'], { cwd: FOLDER })
      const receiverOf = (severity: string) =>
        amtool(
          ['config', 'routes', 'test', '--config.file=alertmanager.yml', `severity=${severity}`],
          { cwd: FOLDER },
        ).output.split('\n')[0]

      expect(check, check.output).toMatchObject({ exit: 0 })
      expect([receiverOf('critical'), receiverOf('warning')]).toEqual(['on-call', 'team'])
    },
  )

  it('are suppressed in the example for Alertmanager by critical ones of the same environment alone', () => {
    const { inhibit_rules: rules } = parse(
      readFileSync(path.join(FOLDER, 'alertmanager.yml'), 'utf8'),
    ) as { inhibit_rules: Record<'source_matchers' | 'target_matchers' | 'equal', string[]>[] }
    const severities = new Map(alerts.map(({ alert, labels }) => [alert, labels.severity]))
    const severitiesIn = (matchers: readonly string[]) =>
      matchers.flatMap((one) => one.match(/[A-Z]\w+/g) ?? []).map((name) => severities.get(name))
    for (const { source_matchers, target_matchers, equal } of rules) {
      expect(new Set(severitiesIn(source_matchers))).toEqual(new Set(['critical']))
      expect(severitiesIn(target_matchers)).not.toContain(undefined)
      expect(equal).toEqual(['job', 'environment'])
    }
  })

  it.runIf(hasPrometheus())('and the configuration pass the checks of promtool', () => {
    const rules = promtool(['check', 'rules', 'alerts.yml'], { cwd: FOLDER })
    const config = promtool(['check', 'config', 'prometheus.yml'], { cwd: FOLDER })

    expect(rules, rules.output).toMatchObject({ exit: 0 })
    expect(config, config.output).toMatchObject({ exit: 0 })
  })

  it('count every outcome as an error that is neither good for the circuit breakers nor a refusal', () => {
    const found = readRules().flatMap(({ expr }) => /outcome!~"([^"]+)"/.exec(expr)?.[1] ?? [])
    const [left = '', ...others] = found
    expect(others).toEqual([])
    const silent = CALL_OUTCOMES.filter((outcome) => new RegExp(`^(?:${left})$`).test(outcome))
    expect(new Set(silent)).toEqual(new Set([...GOOD_OUTCOMES, ...ALERTED_ELSEWHERE]))
  })

  it('name only operations and problems that the API has', () => {
    const named = alerts
      .flatMap(({ expr }) => [...expr.matchAll(/operation!~?"([^"]+)"/g)])
      .flatMap(([, names = '']) => names.split('|'))
    expect(named.length).toBeGreaterThan(8)
    const known = API_OPERATIONS.map(({ id }) => id)
    expect(named.filter((name) => !known.includes(name))).toEqual([])
    const codes = alerts.flatMap(({ expr }) => [...expr.matchAll(/\bcode!?="([^"]+)"/g)])
    expect(codes.length).toBeGreaterThan(2)
    for (const [, code] of codes) expect(PROBLEMS).toHaveProperty([code ?? ''])
  })

  it('each have a test', () => {
    const tests = readFileSync(path.join(FOLDER, 'alerts.test.yml'), 'utf8')
    const untested = alerts.filter(({ alert }) => !tests.includes(`alertname="${alert}"`))
    expect(untested.map(({ alert }) => alert)).toEqual([])
  })
})
