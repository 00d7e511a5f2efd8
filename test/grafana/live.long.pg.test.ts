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
/** The values of Grafana's variables. The rate interval suits scrapes every second. */
const GRAFANA: Readonly<Record<string, string>> = {
  __rate_interval: '15s',
  __range: '1m',
}
const DATA_TIMEOUT_MS = 45_000

describe.runIf(hasPrometheus())('a running farewatch, as Prometheus and Grafana see it', () => {
  let fixture: LiveFixture
  /** The possible values of each variable, by dashboard and name. */
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

  /** Fills in the variables of a query as Grafana does when all values are selected. */
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

  /** Repeats the queries until each has returned data. Returns the names of those that never did. */
  async function withoutData(
    queries: readonly { readonly name: string; readonly hasData: () => Promise<boolean> }[],
  ): Promise<string[]> {
    let left = queries
    const runQueries = async () => {
      // An endpoint has no durations before its first request.
      await useApi()
      const answers = await Promise.all(left.map((query) => query.hasData()))
      left = left.filter((_, i) => answers[i] !== true)
      return left.length === 0
    }
    await until('data', runQueries, DATA_TIMEOUT_MS).catch(() => undefined)
    return left.map(({ name }) => name)
  }

  it('has values for the variables of every dashboard', async () => {
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

  it('returns data for every query of every panel, for SQL with the rights of the analyst', async () => {
    const queries = panelQueries().map(({ name, dashboard, target: { expr, rawSql } }) => ({
      name,
      hasData: async () => {
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

  it('has every series that a rule uses', async () => {
    const { groups } = parse(readFileSync(RULES, 'utf8')) as {
      groups: { rules: { expr: string }[] }[]
    }
    const selectors = groups
      .flatMap(({ rules }) => rules)
      .flatMap(({ expr }) => expr.match(/farewatch[\w:]+(\{[^}]*\})?/g) ?? [])
    expect(selectors.length).toBeGreaterThan(20)

    const queries = selectors.map((name) => ({ name, hasData: () => hasData(name) }))
    expect(await withoutData(queries)).toEqual([])
  })

  it('has only labels with a small set of values, so no flight, address or message', async () => {
    const series = await fixture.prometheus.query('{__name__=~"farewatch_.+"}')
    const unexpected = series.flatMap(
      ({ labels: { __name__: name, instance: _, le: __, ...labels } }) =>
        Object.entries(labels)
          .filter(([, value = '']) => !/^[\w.-]{0,40}$/.test(value) || /\d{4}/.test(value))
          .map(([label, value]) => `${name} ${label}=${value}`),
    )
    expect(unexpected).toEqual([])
    const perMetric = Object.values(Object.groupBy(series, ({ labels }) => labels.__name__ ?? ''))
    expect(Math.max(...perMetric.map((some = []) => some.length))).toBeLessThan(1_000)
  })

  it('fires no alert on an ordinary bad day', async () => {
    expect(await fixture.prometheus.firing()).toEqual([])
  })

  it('fires an alert for a held list until an operator rejects the list', async () => {
    // Losses are confirmed after about 20 s. The next test waits for them.
    setFaults({ name: 'half-list', endpoint: 'routes' }, { name: 'all-unavailable' })
    expect(await fixture.run('sync', '--list', 'routes')).toMatchObject({ exit: 3 })
    await until('the alert', firing('RouteSyncHeld'))

    const { stdout } = await fixture.run('sync', 'review', '--json')
    const { runId } = JSON.parse(stdout) as { runId: number }
    expect(await fixture.run('sync', 'reject', String(runId))).toMatchObject({ exit: 0 })

    await until('no alert', silent('RouteSyncHeld'))
    expect((await fixture.run('sync', 'review')).stdout).toBe('nothing is held\n')
  })

  it('fires an alert for a mass loss until an operator closes the incident', async () => {
    await until('the alert', firing('MassLossIncident'))
    expect((await fixture.run('incidents', 'list')).stdout).toContain('OPEN')

    expect(await fixture.run('incidents', 'close', 'mass_loss')).toMatchObject({ exit: 0 })

    await until('no alert', silent('MassLossIncident'))
    expect((await fixture.run('incidents', 'list')).stdout).not.toContain('OPEN')
  })

  it('fires an alert for a failing upstream until a probe succeeds', async () => {
    setFaults({ name: 'status', code: 503 })
    await until('the alert', firing('UpstreamErrors'))
    const probe = () => fixture.run('upstream', 'probe', '--flight', fixture.flightId)
    expect(await probe()).toMatchObject({ exit: 1 })

    setFaults(...ORDINARY_FAULTS.filter(({ endpoint }) => endpoint !== 'verify'))

    expect(await probe()).toMatchObject({ exit: 0 })
    await until('no alert', silent('UpstreamErrors'))
  })
})
