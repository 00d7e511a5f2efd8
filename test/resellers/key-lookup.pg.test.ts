import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import type { Db } from '../../src/platform/db/database.ts'
import { createApiKey, newKey } from '../../src/resellers/api-keys.ts'
import { createKeyAccess } from '../../src/resellers/check-keys.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'

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
