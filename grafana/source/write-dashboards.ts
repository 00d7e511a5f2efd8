/** `npm run dashboards`: writes grafana/dashboards and the alerts. */
import { writeFile } from 'node:fs/promises'
import { alertsFile } from './alerts.ts'
import { dashboardFiles } from './dashboards.ts'

for (const [name, text] of dashboardFiles()) {
  await writeFile(new URL(`../dashboards/${name}`, import.meta.url), text)
}
await writeFile(new URL('../prometheus/alerts.yml', import.meta.url), alertsFile())
