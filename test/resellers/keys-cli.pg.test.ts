import { describe, expect } from 'vitest'
import { isWellFormedKey } from '../../src/resellers/api-keys.ts'
import { runCommand } from '../support/run-command.ts'
import { it } from '../support/test-database.ts'
import { newReseller } from '../watches/watch-fixtures.ts'

/** Runs `farewatch keys …` on a database. */
async function keys(databaseUrl: string, ...args: string[]) {
  return runCommand(['keys', ...args], { DATABASE_URL: databaseUrl })
}

describe('farewatch keys', () => {
  it('a key is printed once, listed by its prefix, and revoked', async ({ db, databaseUrl }) => {
    await newReseller(db, 'northwind')

    const made = await keys(databaseUrl, 'create', '--reseller', 'northwind', '--scopes', 'read')
    const text = made.stdout.trim()
    const listed = await keys(databaseUrl, 'list')
    const revoked = await keys(databaseUrl, 'revoke', '1')
    const [after] = (await keys(databaseUrl, 'list', '--json')).stdout.trim().split('\n')

    expect(isWellFormedKey(text)).toBe(true)
    expect(listed.stdout).toContain(`${text.slice(0, 12)}…`)
    expect(listed.stdout).toContain('northwind')
    expect(listed.stdout).not.toContain(text)
    expect(revoked.stdout).toMatch(/^key 1 .* is revoked\n$/)
    expect(JSON.parse(after ?? '')).toMatchObject({
      id: 1,
      reseller: 'northwind',
      scopes: ['read'],
      prefix: text.slice(0, 12),
      revokedAt: expect.any(String) as string,
    })
  })

  it('--json prints the key and its details', async ({ databaseUrl }) => {
    const { stdout } = await keys(
      databaseUrl,
      'create',
      '--operator',
      '--expires',
      '2999-01-01',
      '--json',
    )

    const line = JSON.parse(stdout) as { key: string }
    expect(isWellFormedKey(line.key)).toBe(true)
    expect(line).toMatchObject({
      id: 1,
      reseller: null,
      scopes: ['read', 'operate'],
      expiresAt: '2999-01-01T00:00:00.000Z',
    })
  })

  it.for([
    [['create'], 2, 'either --reseller NAME or --operator'],
    [['create', '--operator', '--reseller', 'x'], 2, 'either --reseller NAME or --operator'],
    [['create', '--operator', '--scopes', 'all'], 2, 'some of read, watch, operate'],
    [['create', '--operator', '--expires', '2001-01-01'], 2, 'in the future'],
    [['create', '--operator', '--scopes', 'watch'], 2, 'some of read, operate, not watch'],
    [['create', '--reseller', 'unknown'], 1, 'no reseller named "unknown"'],
    [['revoke', '7'], 1, 'there is no key 7'],
    [['revoke', 'fwk_x'], 2, 'whole number'],
  ] as const)(
    'the arguments %j fail with an explanation',
    async ([args, exit, message], { databaseUrl }) => {
      const ended = await keys(databaseUrl, ...args)

      expect(ended.exit).toBe(exit)
      expect(ended.stderr).toContain(message)
      expect(ended.stdout).toBe('')
    },
  )
})
