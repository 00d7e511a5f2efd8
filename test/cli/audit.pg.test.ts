import { expect } from 'vitest'
import { it } from '../support/test-database.ts'
import { aWorld, inWorld, jsonLines } from './operator-fixtures.ts'

it('an operator accepts a member of answers, and takes that back', async ({ databaseUrl }) => {
  const farewatch = inWorld(await aWorld(databaseUrl, 'postgres'))

  const accepted = await farewatch('answers', 'accept', 'seats')
  const listed = await farewatch('answers', 'list')
  const undone = jsonLines(await farewatch('answers', 'accept', 'seats', '--undo', '--json'))

  expect(accepted.stdout).toBe('answers with seats count from now on\n')
  expect(listed.stdout).toMatch(/\nseats +accepted +0 +0 % /)
  expect(undone).toMatchObject([{ name: 'seats', isUsual: false }])
  const actions = jsonLines(await farewatch('audit', 'list', '--json'))
  expect(actions.map(({ action, target }) => [action, target])).toEqual([
    ['acceptance of answers taken back', 'seats'],
    ['answers accepted', 'seats'],
  ])
})

it('the list of actions has what was done and who did it, the latest first', async ({
  databaseUrl,
}) => {
  const farewatch = inWorld(await aWorld(databaseUrl, 'postgres'))
  await farewatch('resellers', 'create', 'northwind')
  await farewatch('resellers', 'update', 'northwind', '--share', '2')
  await farewatch('keys', 'create', '--reseller', 'northwind')
  await farewatch('resellers', 'create', 'northwind')

  const listed = jsonLines(await farewatch('audit', 'list', '--json'))

  expect(listed.map(({ by, action, target }) => [by, action, target])).toEqual([
    ['cli', 'key created', 'key 1'],
    ['cli', 'reseller changed', 'northwind {"share":2}'],
    ['cli', 'reseller created', 'northwind'],
  ])
})
