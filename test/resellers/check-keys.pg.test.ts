import { createHash, randomInt } from 'node:crypto'
import { describe, expect } from 'vitest'
import { markForDeletion } from '../../src/app/delete-reseller.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import {
  createApiKey,
  listApiKeys,
  newKey,
  recordKeyUse,
  revokeApiKey,
} from '../../src/resellers/api-keys.ts'
import { createKeyAccess } from '../../src/resellers/check-keys.ts'
import { listResellers, requireReseller } from '../../src/resellers/resellers.ts'
import { disableReseller, enableReseller, pauseWatches } from '../../src/watches/change-watches.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { manyCells, resellerWith } from '../watches/watch-fixtures.ts'

function anAccess(db: Db) {
  const clock = { nowMs: 0 }
  const access = createKeyAccess({ db, log: silentLog, nowMs: () => clock.nowMs })
  return { access, clock }
}

describe('the check of a key', () => {
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
})

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

const SECRET = /^fwk_(.{30})/

/** A well-formed key that differs from a valid one in its last random character only. */
function nearMiss(right: string): string {
  const [, secret = ''] = SECRET.exec(right) ?? []
  const indexes = [...secret].map((char) => ALPHABET.indexOf(char))
  const given = [...indexes.slice(0, -1), (Number(indexes.at(-1)) + 1) % ALPHABET.length]
  return newKey(() => given.shift() ?? 0)
}

/** The database, and a list of every statement with its parameters. */
function recorded(db: Db): { db: Db; sent: { fragments: unknown; parameters: unknown[] }[] } {
  const sent: { fragments: unknown; parameters: unknown[] }[] = []
  const plugged = db.withPlugin({
    transformQuery: ({ node }) => {
      const { sqlFragments, parameters } = node as unknown as {
        sqlFragments: unknown
        parameters: { value: unknown }[]
      }
      sent.push({ fragments: sqlFragments, parameters: parameters.map(({ value }) => value) })
      return node
    },
    transformResult: async ({ result }) => result,
  })
  return { db: plugged, sent }
}

it('a key is looked up by its hash only, so the timing reveals nothing about how much of a guess is right', async ({
  db,
}) => {
  const { text } = await createApiKey(db, { resellerId: null })
  const near = nearMiss(text)
  const far = newKey((max) => max - 1)
  const { db: recordedDb, sent } = recorded(db)
  const access = createKeyAccess({ db: recordedDb, log: silentLog, nowMs: () => 0 })

  const answers = [await access.callerOf(near), await access.callerOf(far)]

  expect(near.slice(0, 33)).toBe(text.slice(0, 33))
  expect(answers).toEqual(['unknown', 'unknown'])
  const hashOf = (key: string) => createHash('sha256').update(key).digest()
  expect(sent.map(({ parameters }) => parameters)).toEqual([[[hashOf(near)]], [[hashOf(far)]]])
  expect(sent[0]?.fragments).toEqual(sent[1]?.fragments)
})

describe('resellers', () => {
  it('a reseller that is enabled again has the watches that it had, and they begin again', async ({
    db,
  }) => {
    const id = await resellerWith(db, manyCells(3), 'one')
    await pauseWatches(db, { resellerId: id, list: 'summer', references: ['R0'] })
    await sql`update watch set began_at = '2020-01-01'`.execute(db)
    const begun = async () =>
      (
        await sql<{ n: number }>`
          select count(*) as n from watch where began_at > '2020-01-01' and started_at is null
        `.execute(db)
      ).rows[0]?.n

    expect(await disableReseller(db, id)).toMatchObject({ trackedFaresEnded: 2 })
    expect(await enableReseller(db, id)).toMatchObject({ trackedFaresAdded: 2 })
    expect(await listResellers(db)).toMatchObject([{ watches: 3, active: 2, disabledAt: null }])
    expect(await begun()).toBe(2)
    expect(await enableReseller(db, id)).toMatchObject({ trackedFaresAdded: 0 })
    await sql`update watch set began_at = '2020-01-01'`.execute(db)
    await enableReseller(db, id)
    expect(await begun()).toBe(0)

    await markForDeletion(db, id)
    await enableReseller(db, id)
    expect((await requireReseller(db, 'one')).disabledAt).not.toBeNull()
  })
})
