import type { Panel } from './panel.ts'

/** A choice at the head of a dashboard, of what a query finds. */
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
  /** The question that it answers. */
  readonly question: string
  readonly variables?: readonly Variable[]
  readonly rows: readonly Row[]
}
