import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { panelQueries } from './dashboard-files.ts'

const RULES = path.resolve(import.meta.dirname, '../../grafana/prometheus/alerts.yml')
const GAUGES = createMetrics()
  .systemRegistry.getMetricsAsArray()
  .map(({ name }) => name)

function expressions(): string[] {
  const { groups } = parse(readFileSync(RULES, 'utf8')) as {
    groups: { rules: { expr: string }[] }[]
  }
  const rules = groups.flatMap((group) => group.rules.map(({ expr }) => expr))
  return [...rules, ...panelQueries().flatMap(({ target: { expr } }) => expr ?? [])]
}

it('every query of a gauge of the whole system takes the maximum over processes', () => {
  const uses = expressions().flatMap((expr) =>
    GAUGES.flatMap((name) =>
      [...expr.matchAll(new RegExp(`${name}\\b(?!_)`, 'g'))].map(({ index }) => ({
        expr,
        before: expr.slice(0, index),
      })),
    ),
  )
  expect(uses.length).toBeGreaterThan(30)

  const wrong = uses.filter(
    ({ before }) => !/(\bmax ?(by \([^)]*\) )?|\bcount|\babsent)\((max_over_time\()?$/.test(before),
  )
  expect(wrong.map(({ expr }) => expr)).toEqual([])
})
