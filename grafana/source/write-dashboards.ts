/** Writes grafana/dashboards anew; `npm run format` then lays the files out. */
import { writeFile } from 'node:fs/promises'
import { dashboardFiles } from './dashboards.ts'

for (const [name, text] of dashboardFiles()) {
  await writeFile(new URL(`../dashboards/${name}`, import.meta.url), text)
}
