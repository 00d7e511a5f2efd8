/** Panels as the dashboards are written: what is asked, what it means, and what is good. */

export const PROMETHEUS = { type: 'prometheus', uid: 'farewatch-prometheus' } as const
export const POSTGRES = {
  type: 'grafana-postgresql-datasource',
  uid: 'farewatch-postgres',
} as const

/** By Grafana's names: seconds, a share of 1, a plain count, calls a second, per minute, bytes, "5 minutes ago". */
export type Unit = 's' | 'percentunit' | 'short' | 'reqps' | 'cpm' | 'bytes' | 'dateTimeFromNow'

/** One PromQL query; `legend` may name labels as {{label}}. */
export interface Query {
  readonly expr: string
  readonly legend?: string
}

interface About {
  readonly title: string
  /** What is shown, and what of it is good. */
  readonly about: string
  readonly unit: Unit
  /** From which value on it is a warning, and from which on bad; below the first it is good. */
  readonly limits?: readonly [warning: number, bad: number]
  /** Where small values are the bad ones. */
  readonly smallIsBad?: boolean
  /** The alert whose runbook says what to do when it goes bad; `all` where it may be any. */
  readonly runbook?: string
}

export interface MetricPanel extends About {
  readonly kind: 'stat' | 'timeseries'
  readonly queries: readonly Query[]
  /** Adds the series up to one band. */
  readonly stacked?: boolean
}

/** Rows of the public SQL, asked as the analyst. */
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

type Asked = string | readonly Query[]

const queriesOf = (asked: Asked): readonly Query[] =>
  typeof asked === 'string' ? [{ expr: asked }] : asked

/** The latest value of each series, large. */
export function stat(asked: Asked, about: About): MetricPanel {
  return { kind: 'stat', queries: queriesOf(asked), ...about }
}

export function timeseries(
  asked: Asked,
  about: About & { readonly stacked?: boolean },
): MetricPanel {
  return { kind: 'timeseries', queries: queriesOf(asked), ...about }
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
