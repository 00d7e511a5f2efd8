import { dashboardJson } from './dashboard.ts'
import { FARES } from './fares.ts'
import { OVERVIEW } from './overview.ts'
import { QUEUE } from './queue.ts'
import { ROUTES } from './routes.ts'
import { runbooksDashboard } from './runbooks.ts'
import type { Dashboard } from './shapes.ts'
import { UPSTREAM } from './upstream.ts'

export const DASHBOARDS: Readonly<Record<string, Dashboard>> = {
  'overview.json': OVERVIEW,
  'routes.json': ROUTES,
  'fares.json': FARES,
  'upstream.json': UPSTREAM,
  'queue.json': QUEUE,
  'runbooks.json': runbooksDashboard(),
}

/** The text of each file of grafana/dashboards, by name, before formatting. */
export function dashboardFiles(): [name: string, text: string][] {
  return Object.entries(DASHBOARDS).map(([name, dashboard]) => [
    name,
    `${JSON.stringify(dashboardJson(dashboard), null, 2)}\n`,
  ])
}
