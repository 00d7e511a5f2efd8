/** `npm run dashboards`: writes grafana/dashboards. */
import { writeFile } from 'node:fs/promises'
import { dashboardFiles } from './dashboards.ts'

for (const [name, text] of dashboardFiles()) {
  await writeFile(new URL(`../dashboards/${name}`, import.meta.url), text)
}
