import { expect } from 'vitest'
import { folderWith } from '../platform/config/config-fixture.ts'
import { runCommand } from '../support/run-command.ts'
import { it } from '../support/test-database.ts'

it('a message of the command line has no secret even if a failure quotes one', async ({
  databaseUrl,
}) => {
  const env = { DATABASE_URL: databaseUrl, UPSTREAM_ACCESS_TOKEN: 'CANARY-0123456789' }

  const { exit, stdout, stderr } = await runCommand(
    ['sql', "select 'CANARY-0123456789'::int"],
    env,
    folderWith(),
  )

  expect(exit).toBe(1)
  expect(stdout).toBe('')
  expect(stderr).toBe('farewatch: invalid input syntax for type integer: "[redacted]"\n')
})
