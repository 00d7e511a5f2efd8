import { expect } from 'vitest'
import { it } from '../support/test-database.ts'
import { aWorld, inWorld, jsonLines } from './operator-fixtures.ts'

it('the list of actions has what was done and who did it, the latest first', async ({
  databaseUrl,
}) => {
  const farewatch = inWorld(await aWorld(databaseUrl, 'postgres'))
  await farewatch('resellers', 'create', 'northwind')
  await farewatch('resellers', 'set', 'northwind', '--share', '2')
  await farewatch('keys', 'create', '--reseller', 'northwind')
  await farewatch('resellers', 'create', 'northwind')

  const listed = jsonLines(await farewatch('audit', 'list', '--json'))

  expect(listed.map(({ by, action, target }) => [by, action, target])).toEqual([
    ['cli', 'key created', 'key 1'],
    ['cli', 'reseller share set', 'northwind 2'],
    ['cli', 'reseller created', 'northwind'],
  ])
})
