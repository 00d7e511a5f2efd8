import { describe, expect, it } from 'vitest'
import { dashboardFiles } from '../../grafana/source/dashboards.ts'
import { CALL_OUTCOMES, GOOD_OUTCOMES } from '../../src/upstream/upstream-errors.ts'
import { type PanelFile, queryVariables, readDashboards, variablesIn } from './dashboard-files.ts'

/** The units of Grafana that the panels use. */
const UNITS = ['s', 'percentunit', 'short', 'reqps', 'cpm', 'bytes', 'dateTimeFromNow']

const files = readDashboards()
const dashboards = [...files.values()]
const panelsOf = (kind: (panel: PanelFile) => boolean) =>
  dashboards.flatMap(({ title, panels }) =>
    panels.filter(kind).map((panel) => ({ ...panel, name: `${title} / ${panel.title}` })),
  )
const hasQueries = ({ type }: PanelFile) => type !== 'text'

describe('the dashboards', () => {
  it('are the output of `npm run dashboards`', () => {
    const written = new Map(dashboardFiles().map(([name, text]) => [name, JSON.parse(text)]))
    expect(files).toEqual(written)
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

  it('let the reader choose their datasources, and name no uid of an installation', () => {
    for (const { title, annotations, panels, templating, editable } of dashboards) {
      expect(editable, title).toBe(true)
      const choices = templating.list.filter((variable) => variable.type === 'datasource')
      const known = choices.map(({ name, query }) => ({ type: query, uid: `$${name}` }))
      const used = [
        ...annotations.list.map(({ datasource }) => datasource),
        ...panels.flatMap(({ datasource }) => datasource ?? []),
        ...panels.flatMap(({ targets = [] }) => targets.map(({ datasource }) => datasource)),
        ...queryVariables({ templating }).map(({ datasource }) => datasource),
      ]
      expect(new Set(used.map(({ uid }) => uid)), title).toEqual(
        new Set(known.map(({ uid }) => uid)),
      )
      for (const datasource of used) expect(known, title).toContainEqual(datasource)
    }
  })

  it('show one environment: every query of a series names it, and the query of the variable does not', () => {
    const exprs = dashboards.flatMap(({ annotations, panels }) => [
      ...annotations.list.map(({ expr }) => expr),
      ...panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr = '' }) => expr)),
    ])
    // A name of a series, wherever it stands outside of quotes.
    const names = /\b(farewatch[_:][\w:]+|nodejs_\w+|process_\w+|ALERTS|up)\b(\{[^}]*\})?/g
    const series = exprs
      .map((expr) => expr.replaceAll(/"(?!\$environment")[^"]*"/g, '""'))
      .flatMap((expr) => [...expr.matchAll(names)].map(([text]) => text))
    expect(series.length).toBeGreaterThan(80)
    expect(series.filter((text) => !text.includes('environment="$environment"'))).toEqual([])
    for (const dashboard of dashboards) {
      const [environment] = queryVariables(dashboard)
      expect(environment?.definition).toBe('label_values(up{job="farewatch"}, environment)')
    }
  })

  it('replace no missing value by a healthy one', () => {
    const green = panelsOf(({ targets = [], fieldConfig }) => {
      const lowIsBad = JSON.stringify(fieldConfig?.defaults.thresholds.steps[0] ?? '').includes(
        'red',
      )
      return targets.some(({ expr }) => expr?.includes('vector(0)')) && !lowIsBad
    })
    expect(green.map(({ name }) => name)).toEqual([])
  })

  it('use exactly the variables that they declare', () => {
    for (const { title, panels, annotations, ...dashboard } of dashboards) {
      const queries = [...annotations.list, ...panels.flatMap(({ targets = [] }) => targets)]
      const used = queries.flatMap(variablesIn)
      const declared = queryVariables(dashboard).map(({ name }) => name)
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
})
