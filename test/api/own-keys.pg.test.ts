import { expect } from 'vitest'
import { createApiKey } from '../../src/resellers/api-keys.ts'
import { createReseller } from '../../src/resellers/resellers.ts'
import { ask, bearer, newKeyText, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'

it('a caller sees who it is, and a reseller sees its own keys alone', async ({ db }) => {
  const base = await startApi(db)
  const ana = await createReseller(db, 'ana')
  const ben = await createReseller(db, 'ben')
  const own = await createApiKey(db, { resellerId: ana.id, scopes: ['read'] })
  await createApiKey(db, { resellerId: ben.id })
  const operator = await newKeyText(db)

  const caller = await ask(`${base}/api/v1/caller`, { headers: bearer(own.text) })
  const keys = await ask(`${base}/api/v1/own-keys`, { headers: bearer(own.text) })
  const other = await ask(`${base}/api/v1/caller`, { headers: bearer(operator) })
  const refused = await ask(`${base}/api/v1/own-keys`, { headers: bearer(operator) })

  expect(caller.body).toEqual({ kind: 'reseller', reseller: 'ana', scopes: ['read'], demo: false })
  expect(keys.body).toMatchObject({
    items: [{ prefix: own.key.prefix }],
  })
  expect(keys.text).not.toContain(own.text)
  expect(other.body).toMatchObject({ kind: 'operator', reseller: null })
  expect(refused.status).toBe(403)
})
