import { readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { runAnalystQuery } from '../../src/db/run-analyst-query.ts'
import type { FaultRule } from '../../src/sandbox/faults/fault-rule.ts'
import { hasPrometheus } from '../support/promtool.ts'
import { until } from '../support/until.ts'
import { panelQueries, readDashboards, type VariableFile } from './dashboard-files.ts'
import { type LiveFixture, ORDINARY_FAULTS, prepareLiveFixture } from './live-fixture.ts'

const RULES = path.resolve(import.meta.dirname, '../../grafana/prometheus/alerts.yml')
/** What Grafana would put in for a dashboard of six hours; the rates go by scrapes of a second. */
const GRAFANA: Readonly<Record<string, string>> = {
  __rate_interval: '15s',
  __range: '1m',
}
const DATA_DEADLINE_MS = 45_000

describe.runIf(hasPrometheus())('a running farewatch, as Prometheus and Grafana see it', () => {
  let fixture: LiveFixture
  /** The choices of each variable, by dashboard and name. */
  const choices = new Map<string, string[]>()

  beforeAll(async () => {
    fixture = await prepareLiveFixture()
  })
  afterAll(() => fixture?.close(), 30_000)

  const setFaults = (...rules: FaultRule[]) => fixture.sandbox.setFaults(rules)
  const firing = (alert: string) => () => isFiring(alert)
  const silent = (alert: string) => async () => !(await isFiring(alert))

  async function isFiring(alert: string): Promise<boolean> {
    return (await fixture.prometheus.firing()).includes(alert)
  }

  async function choicesOf({ datasource, definition }: VariableFile): Promise<string[]> {
    if (datasource.type !== 'prometheus') {
      const { rows } = await runAnalystQuery(fixture.database, definition)
      return rows.map(([value]) => value ?? '')
    }
    const [, metric = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(definition) ?? []
    return fixture.prometheus.labelValues(metric, label)
  }

  /** As Grafana fills a query in, with all of each variable chosen. */
  function filled(text: string, uid: string): string {
    const value = (name: string, format?: string) => {
      const chosen = choices.get(`${uid} ${name}`) ?? []
      const quoted = chosen.map((choice) => `'${choice.replaceAll("'", "''")}'`)
      return GRAFANA[name] ?? (format === 'sqlstring' ? quoted.join(',') : chosen.join('|'))
    }
    return text
      .replaceAll(/\$__timeFilter\(([\w.]+)\)/g, "$1 between now() - interval '6 hours' and now()")
      .replaceAll(/\$\{(\w+)(?::(\w+))?\}|\$(\w+)/g, (_, braced, format, bare) => {
        return value(braced ?? bare, format)
      })
  }

  async function useApi(): Promise<void> {
    for (const where of ['data/routes', 'status', 'nowhere']) {
      await (await fetch(`${fixture.api}/api/v1/${where}`)).text()
    }
  }

  const hasData = async (expr: string) => {
    const samples = await fixture.prometheus.query(expr)
    return samples.some(({ value }) => !Number.isNaN(value))
  }

  /** Asks until each has had data once, and names those that never had. */
  async function withoutData(
    queries: readonly { readonly name: string; readonly ask: () => Promise<boolean> }[],
  ): Promise<string[]> {
    let left = queries
    const ask = async () => {
      // What nobody calls has no duration.
      await useApi()
      const answers = await Promise.all(left.map((query) => query.ask()))
      left = left.filter((_, i) => answers[i] !== true)
      return left.length === 0
    }
    await until('data', ask, DATA_DEADLINE_MS).catch(() => undefined)
    return left.map(({ name }) => name)
  }

  it('fills the variables of every dashboard', async () => {
    for (const { uid, templating } of readDashboards().values()) {
      for (const variable of templating.list) {
        const found = await until(`${uid} ${variable.name}`, async () => {
          const values = await choicesOf(variable)
          return values.length > 0 && values
        })
        choices.set(`${uid} ${variable.name}`, found)
      }
    }
    expect(choices.get('farewatch-routes list')).toEqual(['routes', 'with-availability'])
    expect(choices.get('farewatch-routes country')?.length).toBeGreaterThan(20)
  })

  it('gives data to every query of every panel, to those in SQL as the analyst', async () => {
    const queries = panelQueries().map(({ name, dashboard, target: { expr, rawSql } }) => ({
      name,
      ask: async () => {
        if (expr !== undefined) return hasData(filled(expr, dashboard.uid))
        return (
          (await runAnalystQuery(fixture.database, filled(rawSql ?? '', dashboard.uid))).rows
            .length > 0
        )
      },
    }))
    expect(queries.length).toBeGreaterThan(60)

    expect(await withoutData(queries)).toEqual([])
  })

  it('has every series that a rule looks at', async () => {
    const { groups } = parse(readFileSync(RULES, 'utf8')) as {
      groups: { rules: { expr: string }[] }[]
    }
    const selectors = groups
      .flatMap(({ rules }) => rules)
      .flatMap(({ expr }) => expr.match(/farewatch[\w:]+(\{[^}]*\})?/g) ?? [])
    expect(selectors.length).toBeGreaterThan(20)

    const queries = selectors.map((name) => ({ name, ask: () => hasData(name) }))
    expect(await withoutData(queries)).toEqual([])
  })

  it('has labels of closed sets alone: no flight, no address, no message', async () => {
    const series = await fixture.prometheus.query('{__name__=~"farewatch_.+"}')
    const odd = series.flatMap(({ labels: { __name__: name, instance: _, le: __, ...labels } }) =>
      Object.entries(labels)
        .filter(([, value = '']) => !/^[\w.-]{0,40}$/.test(value) || /\d{4}/.test(value))
        .map(([label, value]) => `${name} ${label}=${value}`),
    )
    expect(odd).toEqual([])
    const perMetric = Object.values(Object.groupBy(series, ({ labels }) => labels.__name__ ?? ''))
    expect(Math.max(...perMetric.map((some = []) => some.length))).toBeLessThan(1_000)
  })

  it('wakes nobody on an ordinary bad day', async () => {
    expect(await fixture.prometheus.firing()).toEqual([])
  })

  it('tells of a held list, until it is rejected', async () => {
    // Losses take twenty seconds to be confirmed: the next test finds them.
    setFaults({ name: 'half-list', endpoint: 'routes' }, { name: 'all-unavailable' })
    expect(await fixture.run('sync', '--list', 'routes')).toMatchObject({ exit: 3 })
    await until('the alert', firing('RouteSyncHeld'))

    const { stdout } = await fixture.run('sync', 'review', '--json')
    const { runId } = JSON.parse(stdout) as { runId: number }
    expect(await fixture.run('sync', 'reject', String(runId))).toMatchObject({ exit: 0 })

    await until('no alert', silent('RouteSyncHeld'))
    expect((await fixture.run('sync', 'review')).stdout).toBe('nothing is held\n')
  })

  it('tells of a mass loss, until somebody knows that it is true', async () => {
    await until('the alert', firing('MassLossIncident'))
    expect((await fixture.run('incidents', 'list')).stdout).toContain('OPEN')

    expect(await fixture.run('incidents', 'close', 'mass_loss')).toMatchObject({ exit: 0 })

    await until('no alert', silent('MassLossIncident'))
    expect((await fixture.run('incidents', 'list')).stdout).not.toContain('OPEN')
  })

  it('tells of an upstream that fails, until a probe finds it well', async () => {
    setFaults({ name: 'status', code: 503 })
    await until('the alert', firing('UpstreamErrors'))
    const probe = () => fixture.run('upstream', 'probe', '--flight', fixture.flightId)
    expect(await probe()).toMatchObject({ exit: 1 })

    setFaults(...ORDINARY_FAULTS.filter(({ endpoint }) => endpoint !== 'verify'))

    expect(await probe()).toMatchObject({ exit: 0 })
    await until('no alert', silent('UpstreamErrors'))
  })
})
