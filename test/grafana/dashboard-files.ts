import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

const FOLDER = path.resolve(import.meta.dirname, '../../grafana/dashboards')

/** The parts of Grafana's classic JSON that the tests use. */
export interface DashboardFile {
  readonly id: null
  readonly uid: string
  readonly title: string
  readonly schemaVersion: number
  readonly panels: readonly PanelFile[]
  readonly editable: boolean
  readonly annotations: {
    readonly list: readonly { readonly expr: string; readonly datasource: DatasourceRef }[]
  }
  readonly templating: { readonly list: readonly (VariableFile | DatasourceVariable)[] }
}

export interface PanelFile {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly gridPos: {
    readonly x: number
    readonly y: number
    readonly w: number
    readonly h: number
  }
  readonly datasource?: DatasourceRef
  readonly links?: readonly { readonly title: string; readonly url: string }[]
  readonly fieldConfig?: {
    readonly defaults: { readonly unit: string; readonly thresholds: { readonly steps: unknown[] } }
  }
  readonly targets?: readonly TargetFile[]
}

export interface TargetFile {
  readonly refId: string
  readonly datasource: DatasourceRef
  readonly expr?: string
  readonly rawSql?: string
}

/** The choice of a datasource. Its query is the type. */
export interface DatasourceVariable {
  readonly type: 'datasource'
  readonly name: string
  readonly query: string
}

export interface VariableFile {
  readonly type: 'query'
  readonly name: string
  readonly datasource: DatasourceRef
  readonly definition: string
}

export interface DatasourceRef {
  readonly type: string
  readonly uid: string
}

export function readDashboards(): Map<string, DashboardFile> {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.json'))
  return new Map(
    names.map((name) => [
      name,
      JSON.parse(readFileSync(path.join(FOLDER, name), 'utf8')) as DashboardFile,
    ]),
  )
}

/** The variables of a dashboard whose values a query returns. */
export function queryVariables({ templating }: Pick<DashboardFile, 'templating'>): VariableFile[] {
  return templating.list.filter((variable) => variable.type === 'query')
}

/** One query of a panel, with its name for error messages. */
export interface PanelQuery {
  readonly name: string
  readonly dashboard: DashboardFile
  readonly target: TargetFile
}

export function panelQueries(): PanelQuery[] {
  return [...readDashboards().values()].flatMap((dashboard) =>
    dashboard.panels.flatMap(({ title, targets = [] }) =>
      targets.map((target) => ({
        name: `${dashboard.title} / ${title} / ${target.refId}`,
        dashboard,
        target,
      })),
    ),
  )
}

/** The names of the variables in a query, without Grafana's own. */
export function variablesIn({ expr = '', rawSql = '' }: Partial<TargetFile>): string[] {
  const used = [...`${expr}${rawSql}`.matchAll(/\$\{?(\w+)/g)].map(([, name]) => name ?? '')
  return used.filter((name) => !name.startsWith('__'))
}
