import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { createApiKey, listApiKeys, revokeApiKey } from '../../src/resellers/api-keys.ts'
import { createReseller } from '../../src/resellers/resellers.ts'
import { createSignInCode } from '../../src/resellers/sign-in.ts'
import { ask, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { callsOf } from './reseller-calls.ts'

interface Given {
  readonly key: string
  readonly expiresAt: string
}

/** The API with a reseller, the key that makes its links, and the exchange of codes. */
async function startWith(db: Db, of: { scopes?: ['read']; expiresAt?: Date } = {}) {
  const { id: resellerId } = await createReseller(db, 'ana')
  const base = await startApi(db)
  const maker = await createApiKey(db, { resellerId, ...of })
  const operator = await createApiKey(db, { resellerId: null })
  const exchange = (code: string) =>
    ask(`${base}/api/v1/sign-in`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code }),
    })
  /** Exchanges a code. Returns who the callers with the given keys are, and the keys. */
  const signIn = async (code: string) => {
    const { status, body } = await exchange(code)
    expect(status).toBe(201)
    const keys = body.keys as Given[]
    const callers = keys.map(async ({ key }) => (await callsOf(base, key).get('/caller')).body)
    return { keys, callers: await Promise.all(callers) }
  }
  const link = async (key = maker.text, headers: Record<string, string> = {}) => {
    const { status, body } = await callsOf(base, key).send('POST', '/own-links', undefined, headers)
    expect(status).toBe(201)
    const { path, expiresAt } = body as { path: string; expiresAt: string }
    return { code: path.replace('/#/sign-in/', ''), expiresAt }
  }
  return { db, resellerId, maker, operator, exchange, signIn, link }
}

describe('a code for signing in', () => {
  it('gives the keys of an operator and of a reseller, for thirty days', async ({ db }) => {
    const { resellerId, signIn } = await startWith(db)
    const { code } = await createSignInCode(db, { operator: true, resellerId })
    const { keys, callers } = await signIn(code)
    expect(callers).toMatchObject([
      { kind: 'operator', reseller: null },
      { kind: 'reseller', reseller: 'ana' },
    ])
    const days = (Date.parse(keys[0]?.expiresAt ?? '') - Date.now()) / 86_400_000
    expect(Math.round(days)).toBe(30)
  })

  // Fault: A code for signing in is used twice, at the same time.
  it('is good for one of several exchanges at the same time', async ({ db }) => {
    const { exchange } = await startWith(db)
    const known = (await listApiKeys(db)).length
    const { code } = await createSignInCode(db, { operator: true, resellerId: null })
    const answers = await Promise.all(Array.from({ length: 8 }, () => exchange(code)))
    const [given, ...refused] = answers.toSorted((a, b) => a.status - b.status)
    expect(given?.status).toBe(201)
    const detail = expect.stringContaining('bin/farewatch keys link')
    const gone = { status: 410, body: { code: 'access.code_gone', detail } }
    expect(refused).toMatchObject(refused.map(() => gone))
    expect(await listApiKeys(db)).toHaveLength(known + 1)
  })

  it('ends after ten minutes, and the next one removes it', async ({ db }) => {
    const { exchange } = await startWith(db)
    const { code } = await createSignInCode(db, { operator: true, resellerId: null })
    await sql`update sign_in_code set expires_at = expires_at - interval '10 minutes'`.execute(db)
    expect((await exchange(code)).status).toBe(410)
    await createSignInCode(db, { operator: true, resellerId: null })
    expect((await sql`select from sign_in_code`.execute(db)).rows).toHaveLength(1)
  })
})

describe('a link that a reseller makes', () => {
  it('signs one browser in as the reseller, for minutes, also if an operator makes it', async ({
    db,
  }) => {
    const { operator, exchange, signIn, link } = await startWith(db)
    const own = await link()
    const forIt = await link(operator.text, { 'farewatch-reseller': 'ana' })
    const reseller = { kind: 'reseller', reseller: 'ana', scopes: ['read', 'watch'] }
    for (const { code, expiresAt } of [own, forIt]) {
      expect((await signIn(code)).callers).toMatchObject([reseller])
      expect(Date.parse(expiresAt) - Date.now()).toBeLessThanOrEqual(10 * 60_000)
      expect((await exchange(code)).body.code).toBe('access.code_gone')
    }
  })

  it('gives a key that may no more, and ends no later, than the key that made it', async ({
    db,
  }) => {
    const expiresAt = new Date(Date.now() + 3_600_000)
    const { maker, exchange, signIn, link } = await startWith(db, { scopes: ['read'], expiresAt })
    const later = await link()
    expect(await signIn((await link()).code)).toMatchObject({
      keys: [{ expiresAt: expiresAt.toISOString() }],
      callers: [{ scopes: ['read'] }],
    })
    await revokeApiKey(db, maker.key.id)
    expect((await exchange(later.code)).body.code).toBe('access.code_gone')
  })
})
