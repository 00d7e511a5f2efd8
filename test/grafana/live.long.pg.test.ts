import { readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { codeHelps } from '../../grafana/source/alerts.ts'
import { createApiKey } from '../../src/resellers/api-keys.ts'
import { runAnalystQuery } from '../support/analyst-query.ts'
import { hasPrometheus } from '../support/promtool.ts'
import { hasRedisServer } from '../support/redis-tier.ts'
import { until } from '../support/until.ts'
import {
  type PanelFile,
  panelQueries,
  queryVariables,
  readDashboards,
  type VariableFile,
} from './dashboard-files.ts'
import { type LiveFixture, ORDINARY_FAULTS, prepareLiveFixture } from './live-fixture.ts'

const RULES = path.resolve(import.meta.dirname, '../../grafana/prometheus/alerts.yml')
/** The values of Grafana's variables. The rate interval suits scrapes every second. */
const GRAFANA: Readonly<Record<string, string>> = {
  __rate_interval: '15s',
  __range: '1m',
}
const DATA_TIMEOUT_MS = 45_000
/** Panels that are empty while no change waits, or no webhook was delivered, as in this test. Their series exist. */
const MAY_BE_EMPTY =
  /\/ (Lag of webhooks|Longest wait of a delivery|Age of the oldest change that waits) \//

interface Step {
  readonly color: string
  readonly value: number | null
}

function hasThresholds({ type, fieldConfig }: PanelFile): boolean {
  return type === 'stat' && (fieldConfig?.defaults.thresholds.steps.length ?? 0) > 1
}

/** The commands at the heads of the runbooks, without those that ask for input or change the schema. */
function runbookCommands(flightId: string): string[] {
  const lines = codeHelps().flatMap(({ check }) => check?.command ?? [])
  return [...new Set(lines)]
    .filter((line) => !['psql', 'migrate'].includes(line))
    .map((line) => line.replace('NAME', 'ana').replace('--flight ID', `--flight ${flightId}`))
}

describe.runIf(hasPrometheus() && hasRedisServer())(
  'a running farewatch, as Prometheus and Grafana see it',
  () => {
    let fixture: LiveFixture
    let key: string
    /** The possible values of each variable, by dashboard and name. */
    const choices = new Map<string, string[]>()

    beforeAll(async () => {
      fixture = await prepareLiveFixture()
      key = (await createApiKey(fixture.database.db, { resellerId: null })).text
    })
    afterAll(() => fixture.close(), 30_000)

    async function choicesOf(variable: VariableFile, uid: string): Promise<string[]> {
      const { datasource } = variable
      const definition = filled(variable.definition, uid)
      if (datasource.type !== 'prometheus') {
        const { rows } = await runAnalystQuery(fixture.database, definition)
        return rows.map(([value]) => value ?? '')
      }
      const [, series = '', label = ''] = /^label_values\((.+), (\w+)\)$/.exec(definition) ?? []
      return fixture.prometheus.labelValues(series, label)
    }

    /** Fills in the variables of a query as Grafana does when all values are selected. */
    function filled(text: string, uid: string): string {
      const value = (name: string, format?: string) => {
        const chosen = choices.get(`${uid} ${name}`) ?? []
        const quoted = chosen.map((choice) => `'${choice.replaceAll("'", "''")}'`)
        return GRAFANA[name] ?? (format === 'sqlstring' ? quoted.join(',') : chosen.join('|'))
      }
      return text
        .replaceAll(
          /\$__timeFilter\(([\w.]+)\)/g,
          "$1 between now() - interval '6 hours' and now()",
        )
        .replaceAll(/\$\{(\w+)(?::(\w+))?\}|\$(\w+)/g, (_, braced, format, bare) => {
          return value(braced ?? bare, format)
        })
    }

    async function useApi(): Promise<void> {
      for (const where of ['data/routes', 'status', 'nowhere']) {
        const headers = { authorization: `Bearer ${key}` }
        await (await fetch(`${fixture.api}/api/v1/${where}`, { headers })).text()
      }
    }

    const hasData = async (expr: string) => {
      const samples = await fixture.prometheus.query(expr)
      return samples.some(({ value }) => !Number.isNaN(value))
    }

    /** Whether each metric that a query names has a series. */
    const hasSeries = async (expr: string) => {
      const names = [...new Set(expr.match(/farewatch_\w+/g) ?? [])]
      const found = await Promise.all(names.map((name) => hasData(name)))
      return names.length > 0 && found.every(Boolean)
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
      for (const dashboard of readDashboards().values()) {
        const { uid } = dashboard
        for (const variable of queryVariables(dashboard)) {
          const found = await until(`${uid} ${variable.name}`, async () => {
            const values = await choicesOf(variable, uid)
            return values.length > 0 && values
          })
          choices.set(`${uid} ${variable.name}`, found)
        }
      }
      expect(choices.get('farewatch-overview environment')).toEqual(['production'])
      expect(choices.get('farewatch-routes list')).toEqual(['routes', 'with-availability'])
      expect(choices.get('farewatch-routes country')?.length).toBeGreaterThan(20)
    })

    it('returns data for every query of every panel, for SQL with the rights of the analyst', async () => {
      const queries = panelQueries().map(({ name, dashboard, target: { expr, rawSql } }) => ({
        name,
        hasData: async () => {
          if (expr !== undefined && MAY_BE_EMPTY.test(name)) return hasSeries(expr)
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

      // A series of a status exists after the first response with it, and a healthy API has answered no 5xx. A pause has
      // a series while it lasts, and so has a warning.
      const lasting = selectors.filter((name) => !/^farewatch_(paused|warnings)/.test(name))
      const queries = lasting.map((name) => ({
        name,
        hasData: () => hasData(name.replace('status=~"5..", ', '')),
      }))
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
      expect(Math.max(...perMetric.map((some = []) => some.length))).toBeLessThan(2_000)
    })

    it('fires no alert on an ordinary bad day', async () => {
      // The first gauges are read before the first list arrives, which at these short times is an alert.
      await until('no alert', async () => (await fixture.prometheus.firing()).length === 0)
      const since = Date.now() / 1000
      await until('another scrape', () => hasData(`timestamp(up) > ${since + 2}`))
      expect(await fixture.prometheus.firing()).toEqual([])
    })

    const isFiring = async (alert: string) => (await fixture.prometheus.firing()).includes(alert)

    it('fires an alert until its cause ends, and every command of the runbooks runs meanwhile', async () => {
      fixture.sandbox.setFaults([{ name: 'status', code: 500 }])
      await until('the alert', () => isFiring('UpstreamErrors'))
      for (const line of runbookCommands(fixture.flightId)) {
        const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)]
        const args = words.map(([, quoted, bare = '']) => quoted ?? bare)
        // 2 is wrong usage.
        expect((await fixture.run(...args)).exit, line).not.toBe(2)
      }
      fixture.sandbox.setFaults(ORDINARY_FAULTS)
      await fixture.run('upstream', 'probe', '--flight', fixture.flightId)
      await until('its end', async () => !(await isFiring('UpstreamErrors')))
    }, 400_000)

    // Fault: A dashboard is green because nothing answers.
    it('shows no healthy value on the overview when no process is left', async () => {
      await fixture.end()
      await until('the alert', () => isFiring('ApiDown'))
      const stats = readDashboards().get('overview.json')?.panels.filter(hasThresholds) ?? []
      expect(stats.length).toBeGreaterThan(6)

      await until('unhealthy panels', async () => {
        const healthy = await Promise.all(stats.map(isHealthy))
        return healthy.every((is) => !is)
      })
    })

    /** Whether Grafana would show a value of the panel in green. */
    async function isHealthy({ targets = [], fieldConfig }: PanelFile): Promise<boolean> {
      const steps = (fieldConfig?.defaults.thresholds.steps ?? []) as Step[]
      const answers = await Promise.all(
        targets.map(({ expr = '' }) =>
          fixture.prometheus.query(filled(expr, 'farewatch-overview')),
        ),
      )
      return answers.flat().some(({ value: shown }) => {
        const step = steps.findLast(({ value }) => value === null || shown >= value)
        return step?.color === 'green'
      })
    }
  },
)
