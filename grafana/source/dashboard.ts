import { type MetricPanel, type Panel, POSTGRES, PROMETHEUS } from './panel.ts'
import { runbookLink } from './runbooks.ts'
import type { Dashboard, Row, Variable } from './shapes.ts'

const WIDTH = 24
/** The schema version of the classic JSON. A newer Grafana migrates it. */
const SCHEMA_VERSION = 39

/** Returns the dashboard in Grafana's classic JSON. */
export function dashboardJson({ uid, title, question, variables = [], rows }: Dashboard): object {
  return {
    id: null,
    uid,
    title,
    description: question,
    tags: ['farewatch'],
    schemaVersion: SCHEMA_VERSION,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    timezone: 'utc',
    links: [
      {
        type: 'dashboards',
        title: 'farewatch',
        tags: ['farewatch'],
        asDropdown: true,
        keepTime: true,
      },
    ],
    annotations: { list: [FIRING] },
    templating: {
      list: [
        ...datasourcesOf(rows),
        ENVIRONMENT,
        ...variables.map((one) => variableJson({ ...one, query: inEnvironment(one.query) })),
      ],
    },
    panels: placed(rows).map(({ panel, gridPos }, i) => ({
      id: i + 1,
      gridPos,
      ...panelJson(panel),
    })),
  }
}

/**
 * A query of the chosen environment alone. Panels take the maximum over processes, which would mix environments.
 * @example inEnvironment('sum(farewatch_routes_live{list="routes"})') // 'sum(farewatch_routes_live{list="routes", environment="$environment"})'
 */
function inEnvironment(expr: string): string {
  return expr.replaceAll(SELECTOR, (_, metric: string, labels: string | undefined) => {
    const own = labels === undefined || labels === '' ? '' : `${labels}, `
    return `${metric}{${own}environment="$environment"}`
  })
}

/** The name of a series of ours, and its matchers. A rule's name has colons. */
const SELECTOR =
  /\b((?:farewatch[_:]|nodejs_|process_)[\w:]+|ALERTS(?=\{)|up(?=\{))(?:\{([^}]*)\})?/g

/** Marks firing alerts on every panel. */
const FIRING = {
  name: 'Alerts',
  datasource: PROMETHEUS,
  enable: true,
  iconColor: 'red',
  expr: inEnvironment('ALERTS{alertstate="firing", job="farewatch"}'),
  titleFormat: '{{alertname}}',
}

function placed(rows: readonly Row[]) {
  let y = 0
  return rows.flatMap(({ height, panels }) => {
    const top = y
    y += height
    return panels.map((panel, i) => {
      const x = Math.round((i * WIDTH) / panels.length)
      const end = Math.round(((i + 1) * WIDTH) / panels.length)
      return { panel, gridPos: { x, y: top, w: end - x, h: height } }
    })
  })
}

/** A variable for each datasource that the dashboard uses. Alerts on the panels come from Prometheus. */
function datasourcesOf(rows: readonly Row[]): object[] {
  const hasTables = rows.some(({ panels }) => panels.some(({ kind }) => kind === 'table'))
  const used = hasTables ? [PROMETHEUS, POSTGRES] : [PROMETHEUS]
  return used.map(({ type, uid }) => ({
    type: 'datasource',
    name: uid.slice(1),
    label: type === 'prometheus' ? 'Prometheus' : 'PostgreSQL',
    query: type,
    refresh: 1,
    multi: false,
    includeAll: false,
    current: {},
    options: [],
  }))
}

/** One environment at a time. It stays known while its targets answer no scrape. */
const ENVIRONMENT = {
  ...variableJson({
    name: 'environment',
    label: 'Environment',
    query: 'label_values(up{job="farewatch"}, environment)',
    from: 'prometheus',
  }),
  multi: false,
  includeAll: false,
  current: {},
}

function variableJson({ name, label, query, from }: Variable): object {
  return {
    type: 'query',
    name,
    label,
    datasource: from === 'prometheus' ? PROMETHEUS : POSTGRES,
    query: from === 'prometheus' ? { query, refId: name, qryType: 1 } : query,
    definition: query,
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    current: { selected: true, text: ['All'], value: ['$__all'] },
    options: [],
  }
}

function panelJson(panel: Panel): object {
  if (panel.kind === 'text') {
    const options = { mode: 'markdown', content: panel.markdown }
    return { type: 'text', title: panel.title, options }
  }
  const { title, about, runbook } = panel
  return {
    type: panel.kind,
    title,
    description: about,
    datasource: panel.kind === 'table' ? POSTGRES : PROMETHEUS,
    ...(runbook === undefined ? {} : { links: [runbookLink(runbook)] }),
    fieldConfig: { defaults: defaultsOf(panel), overrides: [] },
    ...(panel.kind === 'table' ? tableParts(panel.sql) : metricParts(panel)),
  }
}

function defaultsOf({
  kind,
  unit,
  limits,
  smallIsBad = false,
  ...panel
}: Exclude<Panel, { kind: 'text' }>) {
  const colors = smallIsBad ? ['red', 'yellow', 'green'] : ['green', 'yellow', 'red']
  const steps = [null, ...(limits ?? [])].map((value, i) => ({ color: colors[i], value }))
  const thresholds = { mode: 'absolute', steps: limits === undefined ? [steps[0]] : steps }
  if (kind !== 'timeseries') return { unit, thresholds }
  const stacked = 'stacked' in panel && panel.stacked === true
  return {
    unit,
    min: 0,
    thresholds,
    custom: {
      fillOpacity: stacked ? 40 : 8,
      showPoints: 'never',
      stacking: { mode: stacked ? 'normal' : 'none', group: 'A' },
      thresholdsStyle: { mode: limits === undefined ? 'off' : 'dashed' },
    },
  }
}

function tableParts(sql: string): object {
  const target = { refId: 'A', datasource: POSTGRES, format: 'table', rawQuery: true, rawSql: sql }
  return { options: { showHeader: true, cellHeight: 'sm' }, targets: [target] }
}

function metricParts({ kind, queries }: MetricPanel): object {
  const targets = queries.map(({ expr, legend }, i) => ({
    refId: String.fromCharCode(65 + i),
    datasource: PROMETHEUS,
    expr: inEnvironment(expr),
    legendFormat: legend ?? '__auto',
    ...(kind === 'stat' ? { instant: true } : { range: true }),
  }))
  const stat = {
    colorMode: 'background',
    graphMode: 'none',
    textMode: 'auto',
    reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
  }
  const lines = { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } }
  return { options: kind === 'stat' ? stat : lines, targets }
}
