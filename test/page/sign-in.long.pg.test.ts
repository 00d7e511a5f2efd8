import { describe, expect } from 'vitest'
import { listApiKeys, revokeApiKey } from '../../src/resellers/api-keys.ts'
import { createSignInCode, signInLink } from '../../src/resellers/sign-in.ts'
import { seedApi } from '../api/seed.ts'
import { ask, bearer, newKeyText, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { canBrowse, openPage, press, shows } from './browser.ts'

describe.runIf(canBrowse)('a link that signs in', () => {
  it('opens the page as an operator with the lists of a reseller, and asks before it replaces keys', async ({
    db,
  }) => {
    const { alpha } = await seedApi(db)
    const base = await startApi(db)
    const linkOf = async (operator: boolean) =>
      signInLink(base, (await createSignInCode(db, { operator, resellerId: alpha })).code)
    const { page } = await openPage({ base })

    await page.goto(await linkOf(true))
    await shows(page, 'operator + alpha')
    expect(page.url()).toBe(`${base}/#/now`)
    await page.getByRole('link', { name: 'Watch lists' }).click()
    await shows(page, 'A-1')
    await page.getByRole('link', { name: 'Schedule' }).waitFor()

    await page.goto(await linkOf(false))
    await shows(page, 'This page is signed in as operator + alpha')
    await press(page, 'Keep the present ones')
    await shows(page, 'operator + alpha')
    const before = (await listApiKeys(db)).length
    await page.goto(await linkOf(false))
    await press(page, 'Replace the keys')
    await shows(page, 'alpha', true)
    expect(await page.getByRole('link', { name: 'Schedule' }).count()).toBe(0)
    const keys = await listApiKeys(db)
    expect(keys).toHaveLength(before + 1)
    expect(keys.filter(({ revokedAt }) => revokedAt !== null)).toHaveLength(2)

    // A revoked key ends the session, and a used link says so.
    for (const { id } of keys) await revokeApiKey(db, id)
    await page.reload()
    await page.getByLabel('Key').waitFor()
    await page.goto(signInLink(base, 'no-such-code'))
    await shows(page, 'was used, is older than 10 minutes or never existed')
  })

  it('ends with the keys that it gave when the page signs out, and a pasted key stays valid', async ({
    db,
  }) => {
    const { alpha } = await seedApi(db)
    const base = await startApi(db)
    const pasted = await newKeyText(db, { resellerId: alpha })
    const known = (await listApiKeys(db)).length
    const { code } = await createSignInCode(db, { operator: true, resellerId: alpha })
    const { page } = await openPage({ base })
    const signOut = async () => {
      await press(page, 'Sign out')
      await page.getByLabel('Key').waitFor()
    }

    await page.goto(signInLink(base, code))
    await shows(page, 'operator + alpha')
    await signOut()
    await page.getByLabel('Key').fill(pasted)
    await press(page, 'Open')
    await shows(page, 'alpha', true)
    await signOut()

    const keys = await listApiKeys(db)
    expect(keys.slice(0, known).filter(({ revokedAt }) => revokedAt !== null)).toEqual([])
    expect(keys.slice(known).map(({ revokedAt }) => revokedAt !== null)).toEqual([true, true])
    const headers = bearer(pasted)
    const answer = await ask(`${base}/api/v1/sign-out`, { method: 'POST', headers })
    expect(answer).toMatchObject({ status: 200, body: { revoked: false } })
    expect((await ask(`${base}/api/v1/caller`, { headers })).status).toBe(200)
  })
})
