import { randomInt } from 'node:crypto'
import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import {
  createApiKey,
  listApiKeys,
  newKey,
  recordKeyUse,
  revokeApiKey,
} from '../../src/resellers/api-keys.ts'
import { createKeyAccess } from '../../src/resellers/check-keys.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { newReseller } from '../watches/watch-fixtures.ts'

function anAccess(db: Db) {
  const clock = { nowMs: 0 }
  const access = createKeyAccess({ db, log: silentLog, nowMs: () => clock.nowMs })
  return { access, clock }
}

describe('the check of a key', () => {
  it('a key has its reseller and its scopes', async ({ db }) => {
    const resellerId = await newReseller(db)
    const theirs = await createApiKey(db, { resellerId, scopes: ['read'] })
    const ours = await createApiKey(db, { resellerId: null })
    const { access } = anAccess(db)

    expect(await access.callerOf(theirs.text)).toEqual({
      kind: 'reseller',
      keyId: theirs.key.id,
      resellerId,
      resellerName: expect.any(String) as string,
      scopes: ['read'],
      limitKey: `key ${theirs.key.id}`,
    })
    expect(await access.callerOf(ours.text)).toMatchObject({
      kind: 'operator',
      scopes: ['read', 'operate'],
    })
    await access.allUsesRecorded()
  })

  it('a revocation takes effect within a second in every process', async ({ db }) => {
    const { text, key } = await createApiKey(db, { resellerId: null })
    const processes = [anAccess(db), anAccess(db)]
    for (const { access } of processes) expect(await access.callerOf(text)).toHaveProperty('kind')

    await revokeApiKey(db, key.id)

    for (const { access, clock } of processes) {
      clock.nowMs = 999
      expect(await access.callerOf(text)).toBe('unknown')
      await access.allUsesRecorded()
    }
  })

  it('a key expires by the clock of the database', async ({ db }) => {
    const { text } = await createApiKey(db, {
      resellerId: null,
      expiresAt: new Date(Date.now() + 3_600_000),
    })
    const { access, clock } = anAccess(db)
    expect(await access.callerOf(text)).toHaveProperty('kind')

    await sql`update farewatch_private.api_key set expires_at = clock_timestamp()`.execute(db)
    clock.nowMs = 999

    expect(await access.callerOf(text)).toBe('unknown')
    await access.allUsesRecorded()
  })

  it('a cached key expires in time', async ({ db }) => {
    const { text } = await createApiKey(db, {
      resellerId: null,
      expiresAt: new Date(Date.now() + 60_000),
    })
    await sql`
      update farewatch_private.api_key set expires_at = clock_timestamp() + interval '800 ms'
    `.execute(db)
    const { access, clock } = anAccess(db)
    expect(await access.callerOf(text)).toHaveProperty('kind')

    clock.nowMs = 800

    expect(await access.callerOf(text)).toBe('unknown')
    await access.allUsesRecorded()
  })

  it('a mistyped key makes no query', async ({ db }) => {
    const { access } = anAccess(db.withSchema('nowhere'))
    const { text } = await createApiKey(db, { resellerId: null })

    expect(await access.callerOf(`${text.slice(0, -1)}_`)).toBe('mistyped')
  })

  it('guessed keys make a bounded number of queries', async ({ db }) => {
    const { text } = await createApiKey(db, { resellerId: null })
    let queries = 0
    const counting = db.withPlugin({
      transformQuery: ({ node }) => {
        queries += 1
        return node
      },
      transformResult: async ({ result }) => result,
    })
    const { access } = anAccess(counting)
    expect(await access.callerOf(text)).toHaveProperty('kind')
    await access.allUsesRecorded()
    queries = 0

    const madeUp = Array.from({ length: 10_500 }, () => newKey(randomInt))
    const answers = await Promise.all(madeUp.map((key) => access.callerOf(key)))
    expect(new Set(answers)).toEqual(new Set(['unknown']))
    expect(queries).toBeLessThan(10)

    queries = 0
    expect(await access.callerOf(text)).toHaveProperty('kind')
    expect(queries).toBe(0)
  })

  it('the use of a key is recorded in the background, once a minute across all processes', async ({
    db,
  }) => {
    const { text, key } = await createApiKey(db, { resellerId: null })
    const { access } = anAccess(db)
    await access.callerOf(text)
    await access.allUsesRecorded()

    const [listed] = await listApiKeys(db)
    expect(listed?.lastUsedAt).toBeInstanceOf(Date)
    expect(await recordKeyUse(db, key.id)).toBe(false)
    await sql`
      update farewatch_private.api_key set last_used_at = last_used_at - interval '61 seconds'
    `.execute(db)
    expect(await recordKeyUse(db, key.id)).toBe(true)
  })

  it('a key is accepted although its use cannot be recorded', async ({ db }) => {
    const { text } = await createApiKey(db, { resellerId: null })
    const { access } = anAccess(db)
    await sql`alter table farewatch_private.api_key rename last_used_at to used_at`.execute(db)

    expect(await access.callerOf(text)).toMatchObject({ kind: 'operator' })
    await expect(access.allUsesRecorded()).resolves.toBeUndefined()
  })
})

describe('keys', () => {
  it('only the hash of a key is stored', async ({ db }) => {
    const { text } = await createApiKey(db, { resellerId: null })

    const { rows } = await sql<{ row: string }>`
      select to_jsonb(k)::text as row from farewatch_private.api_key k
    `.execute(db)

    expect(rows).toHaveLength(1)
    expect(rows[0]?.row).not.toContain(text.slice(12))
    expect(rows[0]?.row).toContain(text.slice(0, 12))
  })

  it('a key cannot be without a scope', async ({ db }) => {
    const creating = createApiKey(db, { resellerId: null, scopes: [] })

    await expect(creating).rejects.toMatchObject({ code: 'access.scope_not_grantable' })
  })

  it('revoking a key a second time changes nothing, and revoking an unknown key fails', async ({
    db,
  }) => {
    const { key } = await createApiKey(db, { resellerId: null })

    const first = await revokeApiKey(db, key.id)
    const second = await revokeApiKey(db, key.id)

    expect(first.revokedAt).toEqual(second.revokedAt)
    await expect(revokeApiKey(db, key.id + 1)).rejects.toMatchObject({ code: 'not_found' })
  })
})
