/** Exports all tables with a state, and kills its process at a step: `node killed-export.ts URL PLACE STATE STEP`. */
import { exportTables } from '../../src/history/export-run.ts'
import { openDatabase } from '../../src/platform/db/database.ts'
import { silentLog } from '../support/silent-log.ts'

const [url = '', to = '', state = '', killedAt = ''] = process.argv.slice(2)
const database = openDatabase({ url, applicationName: 'killed export', log: silentLog })
await exportTables(
  database,
  { tables: ['all'], format: 'parquet', to, state },
  {
    onProgress: (step) => {
      if (step === killedAt) process.kill(process.pid, 'SIGKILL')
    },
  },
)
await database.close()
