import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { createApiKey, listApiKeys, revokeApiKey } from '../../src/resellers/api-keys.ts'
import { createReseller } from '../../src/resellers/resellers.ts'
import { createSignInCode } from '../../src/resellers/sign-in.ts'
import { ask, bearer, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'

interface Given {
  readonly kind: string
  readonly key: string
  readonly expiresAt: string
}

function exchange(base: string, code: string) {
  return ask(`${base}/api/v1/sign-in`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code }),
  })
}

async function codes(db: Db): Promise<number> {
  const { rows } = await sql<{ n: number }>`select count(*) as n from sign_in_code`.execute(db)
  return rows[0]?.n ?? 0
}

describe('a code for signing in', () => {
  it('gives the keys of an operator and of a reseller, for thirty days', async ({ db }) => {
    const { id: resellerId } = await createReseller(db, 'demo')
    const base = await startApi(db)
    const { code } = await createSignInCode(db, { operator: true, resellerId })

    const { status, body } = await exchange(base, code)

    expect(status).toBe(201)
    const [operator, reseller] = body.keys as [Given, Given]
    const callers = await Promise.all(
      [operator, reseller].map(({ key }) => ask(`${base}/api/v1/caller`, { headers: bearer(key) })),
    )
    expect(callers.map(({ body }) => body)).toMatchObject([
      { kind: 'operator', reseller: null },
      { kind: 'reseller', reseller: 'demo' },
    ])
    const days = (Date.parse(operator.expiresAt) - Date.now()) / 86_400_000
    expect(days).toBeGreaterThan(29)
    expect(days).toBeLessThanOrEqual(31)
  })

  it('is good for one of several exchanges at the same time', async ({ db }) => {
    const base = await startApi(db)
    const { code } = await createSignInCode(db, { operator: true, resellerId: null })

    const answers = await Promise.all(Array.from({ length: 8 }, () => exchange(base, code)))

    const statuses = answers.map(({ status }) => status).toSorted()
    expect(statuses).toEqual([201, ...Array.from({ length: 7 }, () => 410)])
    expect(await listApiKeys(db)).toHaveLength(1)
    const refused = answers.find(({ status }) => status === 410)
    expect(refused?.body).toMatchObject({
      code: 'access.code_gone',
      detail: expect.stringContaining('bin/farewatch keys link') as string,
    })
  })

  it('ends after ten minutes, and the next one removes it', async ({ db }) => {
    const base = await startApi(db)
    const { code } = await createSignInCode(db, { operator: true, resellerId: null })
    await sql`update sign_in_code set expires_at = expires_at - interval '10 minutes'`.execute(db)

    expect((await exchange(base, code)).status).toBe(410)
    expect(await listApiKeys(db)).toEqual([])
    await createSignInCode(db, { operator: true, resellerId: null })
    expect(await codes(db)).toBe(1)
  })
})

describe('a link that a reseller makes', () => {
  async function startWith(db: Db, of: { scopes?: ['read']; expiresAt?: Date } = {}) {
    const { id: resellerId } = await createReseller(db, 'ana')
    const base = await startApi(db)
    const maker = await createApiKey(db, { resellerId, ...of })
    const make = async () => {
      const { status, body } = await ask(`${base}/api/v1/own-links`, {
        method: 'POST',
        headers: bearer(maker.text),
      })
      expect(status).toBe(201)
      return body as { path: string; url: string | null; expiresAt: string }
    }
    return { base, maker, make }
  }

  const codeOf = ({ path }: { path: string }) => path.replace('/#/sign-in/', '')

  it('signs one browser in as the reseller, for minutes', async ({ db }) => {
    const { base, make } = await startWith(db)

    const link = await make()
    const { body } = await exchange(base, codeOf(link))

    const [given] = body.keys as [Given]
    const caller = await ask(`${base}/api/v1/caller`, { headers: bearer(given.key) })
    expect(caller.body).toMatchObject({
      kind: 'reseller',
      reseller: 'ana',
      scopes: ['read', 'watch'],
    })
    expect(Date.parse(link.expiresAt) - Date.now()).toBeLessThanOrEqual(10 * 60_000)
    expect((await exchange(base, codeOf(link))).body.code).toBe('access.code_gone')
  })

  it('gives a key that may no more, and ends no later, than the key that made it', async ({
    db,
  }) => {
    const expiresAt = new Date(Date.now() + 3_600_000)
    const { base, make } = await startWith(db, { scopes: ['read'], expiresAt })

    const { body } = await exchange(base, codeOf(await make()))

    const [given] = body.keys as [Given]
    const caller = await ask(`${base}/api/v1/caller`, { headers: bearer(given.key) })
    expect(caller.body.scopes).toEqual(['read'])
    expect(given.expiresAt).toBe(expiresAt.toISOString())
  })

  it('may be made by an operator for it, and gives no rights of an operator', async ({ db }) => {
    const { base } = await startWith(db)
    const operator = await createApiKey(db, { resellerId: null })
    const { body: link } = await ask(`${base}/api/v1/own-links`, {
      method: 'POST',
      headers: { ...bearer(operator.text), 'farewatch-reseller': 'ana' },
    })

    const { body } = await exchange(base, codeOf(link as { path: string }))

    const [given] = body.keys as [Given]
    const caller = await ask(`${base}/api/v1/caller`, { headers: bearer(given.key) })
    expect(caller.body).toMatchObject({ reseller: 'ana', scopes: ['read', 'watch'] })
  })

  it('gives nothing once the key that made it is revoked', async ({ db }) => {
    const { base, maker, make } = await startWith(db)
    const link = await make()

    await revokeApiKey(db, maker.key.id)

    expect((await exchange(base, codeOf(link))).body.code).toBe('access.code_gone')
  })
})
