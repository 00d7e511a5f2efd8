import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { dashboardFiles } from '../../grafana/source/dashboards.ts'
import { CALL_OUTCOMES, GOOD_OUTCOMES } from '../../src/upstream/breaker/breaker-signal.ts'
import { type PanelFile, readDashboards, variablesIn } from './dashboard-files.ts'

const PROVISIONING = path.resolve(import.meta.dirname, '../../grafana/provisioning')
/** The units of Grafana that the panels use. */
const UNITS = ['s', 'percentunit', 'short', 'reqps', 'cpm', 'bytes', 'dateTimeFromNow']
const COLUMNS = 24

const files = readDashboards()
const dashboards = [...files.values()]
const panelsOf = (kind: (panel: PanelFile) => boolean) =>
  dashboards.flatMap(({ title, panels }) =>
    panels.filter(kind).map((panel) => ({ ...panel, name: `${title} / ${panel.title}` })),
  )
const hasQueries = ({ type }: PanelFile) => type !== 'text'

function readYaml(name: string): unknown {
  return parse(readFileSync(path.join(PROVISIONING, name), 'utf8'))
}

function overlaps(a: PanelFile['gridPos'], b: PanelFile['gridPos']): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h
}

describe('the dashboards', () => {
  it('are the output of `npm run dashboards`', () => {
    const written = new Map(dashboardFiles().map(([name, text]) => [name, JSON.parse(text)]))
    expect(files).toEqual(written)
  })

  it('have unique names and no id of a particular installation', () => {
    expect(new Set(dashboards.map(({ uid }) => uid)).size).toBe(dashboards.length)
    expect(new Set(dashboards.map(({ title }) => title)).size).toBe(dashboards.length)
    for (const { id, uid, schemaVersion } of dashboards) {
      expect(id).toBeNull()
      expect(uid).toMatch(/^farewatch-[a-z]{1,30}$/)
      expect(schemaVersion).toBeGreaterThanOrEqual(36)
    }
  })

  it('place their panels inside the grid without overlap', () => {
    for (const { title, panels } of dashboards) {
      expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
      for (const [i, { gridPos, title: name }] of panels.entries()) {
        expect(gridPos.x + gridPos.w, `${title} / ${name}`).toBeLessThanOrEqual(COLUMNS)
        expect(Math.min(gridPos.w, gridPos.h), `${title} / ${name}`).toBeGreaterThan(2)
        const under = panels.slice(0, i).filter((panel) => overlaps(panel.gridPos, gridPos))
        expect(under.map((panel) => panel.title)).toEqual([])
      }
    }
  })

  it('give every panel a unit and a healthy value', () => {
    const wrong = panelsOf(hasQueries).filter(({ fieldConfig, description = '' }) => {
      return !UNITS.includes(fieldConfig?.defaults.unit ?? '') || !/\bHealthy: /.test(description)
    })
    expect(wrong.map(({ name }) => name)).toEqual([])
  })

  it('link every panel that has thresholds to its runbook', () => {
    const withThresholds = panelsOf(
      ({ fieldConfig }) => (fieldConfig?.defaults.thresholds.steps.length ?? 0) > 1,
    )
    expect(withThresholds.length).toBeGreaterThan(20)
    expect(
      withThresholds.filter(({ links = [] }) => links.length === 0).map((p) => p.name),
    ).toEqual([])

    const runbooks = files.get('runbooks.json')
    for (const { links = [], name } of panelsOf(hasQueries)) {
      for (const { title, url } of links.filter((link) => link.title !== 'Runbooks')) {
        const [, uid, id] = /^\/d\/([\w-]+)\?viewPanel=(\d+)$/.exec(url) ?? []
        const section = runbooks?.panels.find((panel) => panel.id === Number(id))
        expect({ uid, title }, name).toEqual({
          uid: runbooks?.uid,
          title: `Runbook: ${section?.title}`,
        })
      }
    }
  })

  it('query the provisioned data sources by their uid', () => {
    const { datasources } = readYaml('datasources/datasources.yml') as {
      datasources: { uid: string; type: string }[]
    }
    const known = datasources.map(({ uid, type }) => ({ uid, type }))
    expect(known).toHaveLength(2)
    for (const panel of panelsOf(hasQueries)) {
      expect(known).toContainEqual(panel.datasource)
      for (const { datasource, expr, rawSql } of panel.targets ?? []) {
        expect(datasource, panel.name).toEqual(panel.datasource)
        expect(datasource.type === 'prometheus' ? expr : rawSql, panel.name).toBeTruthy()
      }
    }
    for (const { templating } of dashboards) {
      for (const variable of templating.list) expect(known).toContainEqual(variable.datasource)
    }
  })

  it('use exactly the variables that they declare', () => {
    for (const { title, panels, templating } of dashboards) {
      const used = panels.flatMap(({ targets = [] }) => targets.flatMap(variablesIn))
      const declared = templating.list.map(({ name }) => name)
      expect(new Set(used), title).toEqual(new Set(declared))
    }
  })

  it('count the same outcomes as good answers as the circuit breakers do', () => {
    const [good] = panelsOf(({ title }) => title === 'Good answers')
    const expr = good?.targets?.[0]?.expr ?? ''
    const [, shown = ''] = /outcome=~"([^"]+)"/.exec(expr) ?? []
    const matched = CALL_OUTCOMES.filter((outcome) => new RegExp(`^(?:${shown})$`).test(outcome))
    expect(matched).toEqual(GOOD_OUTCOMES)
    expect(matched).toContain('upstream.not_modified')
  })

  it('lie in the folder that the provider reads', () => {
    expect(readYaml('dashboards/dashboards.yml')).toMatchObject({
      providers: [{ type: 'file', options: { path: '/var/lib/grafana/dashboards' } }],
    })
  })
})
