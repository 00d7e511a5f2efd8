import { expect } from 'vitest'
import { it } from '../support/test-database.ts'
import { aWorld, inWorld, jsonLines } from './operator-fixtures.ts'

it('an operator allows an address, lists it and disallows it, by its whole name alone', async ({
  databaseUrl,
}) => {
  const farewatch = inWorld(await aWorld(databaseUrl, 'postgres'))
  const owner = ['--reseller', 'northwind']
  await farewatch('resellers', 'create', 'northwind')

  const refused = await farewatch('addresses', 'allow', 'ana@a.example, bob@b.example', ...owner)
  const allowed = await farewatch('addresses', 'allow', 'ana@agency.example', ...owner)
  const listed = jsonLines(await farewatch('addresses', 'list', ...owner, '--json'))
  const disallowed = await farewatch('addresses', 'disallow', 'ANA@agency.example', ...owner)
  const again = await farewatch('addresses', 'disallow', 'ana@agency.example', ...owner)

  expect(refused.stderr).toContain('one e-mail address')
  expect(allowed).toMatchObject({ exit: 0, stdout: 'a…@agency.example allowed\n' })
  expect(listed).toMatchObject([{ address: 'a…@agency.example' }])
  expect(disallowed.exit).toBe(0)
  expect(again.stderr).toContain('is not allowed')
})
