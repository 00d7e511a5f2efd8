import { expect } from 'vitest'
import { runbookSections } from '../../grafana/source/runbooks.ts'
import { API_OPERATIONS } from '../../src/app/api-operations.ts'
import { ask, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'

it('/docs shows every operation and shape, runs nothing, and its links lead to its own parts', async ({
  db,
}) => {
  const base = await startApi(db)

  const page = await ask(`${base}/docs`)
  const ids = [...page.text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id ?? '')
  const links = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link ?? '')

  expect(page.status).toBe(200)
  expect(page.headers.get('content-security-policy')).toMatch(/default-src 'none'; style-src/)
  expect(page.text).not.toMatch(/<script/)
  expect(page.text).not.toMatch(/undefined|\[object/)
  expect(new Set(ids).size).toBe(ids.length)
  for (const { id } of API_OPERATIONS) expect(ids).toContain(id)
  expect(links.length).toBeGreaterThan(100)
  const others = [...new Set(links)].filter((link) => !ids.includes(link.replace('#', '')))
  expect(others.filter((link) => !/^\/docs(\/[\w-]+)?$/.test(link))).toEqual(['/openapi.json'])
})

// Fault: The link of an alert leads nowhere.
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
  const others = links.filter((link) => !anchors.includes(link.replace('#', '')))
  expect(others.filter((link) => !/^(\/docs\b|https:)/.test(link))).toEqual([])
})
