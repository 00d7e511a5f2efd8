import { describe, expect, inject } from 'vitest'
import {
  DatabaseUnreachableError,
  probeDatabase,
} from '../../../src/platform/db/database-health.ts'
import { freePort } from '../../support/redis-tier.ts'
import { it } from '../../support/test-database.ts'
import { openAnother } from './empty-database.ts'

const CANARY = 'canary-password'

/** The error of a probe of this address. */
async function refusalOf(url: string): Promise<Error> {
  const { db } = openAnother(url)
  const error = await probeDatabase(db, url).then(
    () => new Error('nothing was wrong'),
    (err: unknown) => err as Error,
  )
  expect(error).toBeInstanceOf(DatabaseUnreachableError)
  expect(error).toMatchObject({ code: 'db.unreachable', retryable: true })
  expect(`${error.message}${error.stack}`).not.toContain(CANARY)
  return error
}

function given(changes: { user?: string; database?: string }): string {
  const url = new URL(inject('postgresUrl'))
  url.password = CANARY
  if (changes.user !== undefined) url.username = changes.user
  if (changes.database !== undefined) url.pathname = `/${changes.database}`
  return url.href
}

describe('a database that answers', () => {
  it('reports its version', async ({ db, databaseUrl }) => {
    expect(await probeDatabase(db, databaseUrl)).toMatch(/^18\./)
  })
})

describe('a database that cannot be used', () => {
  it.for(['127.0.0.1', 'localhost'])(
    'is named by host and port: nothing listens at %s',
    async (host) => {
      const port = await freePort()

      const { message } = await refusalOf(`postgres://user:${CANARY}@${host}:${port}/fares`)

      expect(message).toContain(
        `PostgreSQL at ${host}:${port}/fares cannot be used (connect ECONNREFUSED`,
      )
      expect(message).toContain('check DATABASE_URL and that PostgreSQL runs')
    },
  )

  it('is named with the default port when the URL has none', async () => {
    const { message } = await refusalOf(`postgres://user:${CANARY}@nowhere.invalid/fares`)

    expect(message).toContain(
      'PostgreSQL at nowhere.invalid:5432/fares cannot be used (getaddrinfo',
    )
  })

  it('is named by its socket when the URL has one', async () => {
    const { message } = await refusalOf(`postgres:///fares?host=/nowhere&password=${CANARY}`)

    expect(message).toContain('PostgreSQL at /nowhere:5432/fares cannot be used')
  })

  it('is reported with the server’s own message: no such database', async () => {
    const { message } = await refusalOf(given({ database: 'farewatch_test_nowhere' }))

    expect(message).toMatch(/\/farewatch_test_nowhere cannot be used \(.+\)/)
  })

  it('is reported without the wrong password', async ({ skip }) => {
    const url = given({})
    const trusted = await openAnother(url)
      .pool.query('select 1')
      .then(
        () => true,
        () => false,
      )
    skip(trusted, 'this server accepts any password')

    const { message } = await refusalOf(url)

    expect(message).toContain('password authentication failed for user')
  })
})
