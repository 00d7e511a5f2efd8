/** The panels of the dashboards: queries, what they mean, and what is healthy. */

/** The datasources that the reader chooses in the dashboard, so that it can be imported into any Grafana. */
export const PROMETHEUS = { type: 'prometheus', uid: '$prometheus' } as const
export const POSTGRES = { type: 'grafana-postgresql-datasource', uid: '$postgres' } as const

/** By Grafana's names: seconds, a share of 1, a plain count, calls a second, per minute, bytes, "5 minutes ago". */
export type Unit = 's' | 'percentunit' | 'short' | 'reqps' | 'cpm' | 'bytes' | 'dateTimeFromNow'

/** One PromQL query; `legend` may name labels as {{label}}. */
export interface Query {
  readonly expr: string
  readonly legend?: string
}

interface About {
  readonly title: string
  /** What the panel shows, and which values are healthy. */
  readonly about: string
  readonly unit: Unit
  /** The values from which the panel is a warning and bad. Below the first it is healthy. */
  readonly limits?: readonly [warning: number, bad: number]
  /** Whether small values are the bad ones. */
  readonly smallIsBad?: boolean
  /** The section of the runbooks that applies when the value is bad; `all` links to all runbooks. */
  readonly runbook?: string
}

export interface MetricPanel extends About {
  readonly kind: 'stat' | 'timeseries'
  readonly queries: readonly Query[]
  /** Stacks the series. */
  readonly stacked?: boolean
}

/** Rows of the public SQL, read by the role of the analysts. */
export interface TablePanel extends About {
  readonly kind: 'table'
  readonly sql: string
}

export interface TextPanel {
  readonly kind: 'text'
  readonly title: string
  readonly markdown: string
}

export type Panel = MetricPanel | TablePanel | TextPanel

type Queries = string | readonly Query[]

const queriesOf = (queries: Queries): readonly Query[] =>
  typeof queries === 'string' ? [{ expr: queries }] : queries

/** Shows the latest value of each series. */
export function stat(queries: Queries, about: About): MetricPanel {
  return { kind: 'stat', queries: queriesOf(queries), ...about }
}

export function timeseries(
  queries: Queries,
  about: About & { readonly stacked?: boolean },
): MetricPanel {
  return { kind: 'timeseries', queries: queriesOf(queries), ...about }
}

export function table(sql: string, about: About): TablePanel {
  return { kind: 'table', sql, ...about }
}

/** The usual quantiles of a histogram over its labels `by`. */
export function quantiles(metric: string, by: readonly string[] = [], matcher = ''): Query[] {
  const labels = by.map((label) => `{{${label}}} `).join('')
  return [0.5, 0.95].map((q) => ({
    expr: `histogram_quantile(${q}, sum by (${['le', ...by].join(', ')}) (rate(${metric}_bucket${matcher}[$__rate_interval])))`,
    legend: `${labels}p${q * 100}`,
  }))
}
