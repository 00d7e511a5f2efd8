import type { Panel } from './panel.ts'

/** A variable of a dashboard. A query returns its values. */
export interface Variable {
  readonly name: string
  readonly label: string
  /** `label_values(metric, label)`, or a statement of one column. */
  readonly query: string
  readonly from: 'prometheus' | 'postgres'
}

/** A row of panels that share the width; heights are in Grafana's units of 30 pixels. */
export interface Row {
  readonly height: number
  readonly panels: readonly Panel[]
}

export interface Dashboard {
  readonly uid: string
  readonly title: string
  /** The question that the dashboard answers. */
  readonly question: string
  readonly variables?: readonly Variable[]
  readonly rows: readonly Row[]
}
