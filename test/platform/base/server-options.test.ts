import pg from 'pg'
import { expect, it } from 'vitest'
import { takeServerOptions } from '../../../src/platform/base/server-options.ts'
import { faultsOf } from '../config/config-fixture.ts'

const URL = 'postgres://user:secret@db.internal/fares'

/** What a client would do at a server with TLS. */
function tlsOf(url: string): unknown {
  const { connectionString } = takeServerOptions(url)
  return (new pg.Client({ connectionString }) as unknown as { ssl: unknown }).ssl
}

it.each([
  ['without sslmode', URL, false],
  ['disable', `${URL}?sslmode=disable`, false],
  ['require', `${URL}?sslmode=require`, { rejectUnauthorized: false }],
])('%s a connection has the TLS that libpq would have', (_mode, url, tls) => {
  expect(tlsOf(url)).toEqual(tls)
})

it('verify-full verifies the certificate and the name of the host', () => {
  const tls = tlsOf(`${URL}?sslmode=verify-full`)

  expect(tls).not.toHaveProperty('rejectUnauthorized')
  expect(tls).not.toHaveProperty('checkServerIdentity')
})

it.each(['prefer', 'allow', 'no-verify', 'none'])('sslmode=%s is refused', (mode) => {
  expect(faultsOf({ DATABASE_URL: `${URL}?sslmode=${mode}` })).toEqual([
    `DATABASE_URL has sslmode=${mode}: it must be disable, require, verify-ca, verify-full`,
  ])
})

it('verify-ca needs the certificate to verify by', () => {
  expect(faultsOf({ DATABASE_URL: `${URL}?sslmode=verify-ca` })[0]).toMatch(/without sslrootcert/)
})

it('options of the URL count, and those that we assume of a session come after them', () => {
  const { connectionString, serverOptions } = takeServerOptions(
    `${URL}?options=-c%20work_mem%3D8MB&sslmode=require`,
  )

  expect(connectionString).not.toContain('options')
  expect(serverOptions).toMatch(/^-c work_mem=8MB -c datestyle=ISO /)
})
