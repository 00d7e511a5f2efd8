import { expect } from 'vitest'
import { startOlderServer } from '../platform/db/pooler.ts'
import { runFarewatch } from '../support/child-process.ts'
import { it } from '../support/test-database.ts'

const COMMANDS = [
  ['migrate'],
  ['restored'],
  ['doctor'],
  ['status', '--database'],
  ['sql', 'select 1'],
  ['history', 'prove'],
  ['worker'],
  ['api'],
  ['up'],
]

it('every command that opens the database refuses an older PostgreSQL with its version', async ({
  databaseUrl,
}) => {
  const url = await startOlderServer(databaseUrl, '17')
  const UPSTREAM_BASE_URL = 'http://127.0.0.1:9'

  for (const command of COMMANDS) {
    const { exit, stdout, stderr } = await runFarewatch(command, {
      DATABASE_URL: url,
      UPSTREAM_BASE_URL,
    })

    expect([command, exit === 0, `${stdout}${stderr}`]).toEqual([
      command,
      false,
      expect.stringMatching(/the database is PostgreSQL 17\.\d+; farewatch needs 18 or newer/),
    ])
  }
}, 120_000)
