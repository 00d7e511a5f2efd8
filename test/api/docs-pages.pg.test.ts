import { expect } from 'vitest'
import { runbookSections } from '../../grafana/source/runbooks.ts'
import { ask, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'

it('/docs loads and runs nothing from other origins', async ({ db }) => {
  const base = await startApi(db)

  const page = await ask(`${base}/docs`)
  const links = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link ?? '')

  expect(page.status).toBe(200)
  expect(page.headers.get('content-security-policy')).toMatch(
    /default-src 'none'; script-src 'self';/,
  )
  expect(page.text).not.toMatch(/<script>/)
  expect(links.length).toBeGreaterThan(3)
  for (const link of links) {
    const address = new URL(link, `${base}/docs`)
    expect(address.origin).toBe(base)
    expect((await ask(address.href)).status, link).toBe(200)
  }
  expect((await ask(`${base}/docs/json`)).body).toMatchObject({ openapi: '3.1.0' })
})

it('/docs/runbooks needs no key, has an anchor for every alert and leads to no other page', async ({
  db,
}) => {
  const base = await startApi(db)

  const page = await ask(`${base}/docs/runbooks`)

  expect(page.status).toBe(200)
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none';/)
  const anchors = [...page.text.matchAll(/<h2 id="([^"]+)">/g)].map(([, id]) => id)
  expect(anchors).toEqual(runbookSections().map(({ title }) => title.toLowerCase()))
  const links = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link ?? '')
  expect(links.length).toBeGreaterThan(5)
  expect(links.filter((link) => !anchors.includes(link.replace('#', '')))).toEqual([])
})
