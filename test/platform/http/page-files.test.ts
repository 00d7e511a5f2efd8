import { expect, it } from 'vitest'
import { createApi } from '../../../src/platform/http/api.ts'
import { noTransactions } from '../../support/no-transactions.ts'
import { requestLimits } from '../../support/request-limits.ts'
import { silentLog } from '../../support/silent-log.ts'

function startApi() {
  return createApi({
    log: silentLog,
    operations: [],
    deps: {},
    transactions: noTransactions(),
    document: {},
    access: { callerOf: async () => 'unknown' },
    ...requestLimits(1),
    isUnavailable: () => false,
  })
}

it('every file of the page is kept by browsers and counts against no limit', async () => {
  const api = startApi()
  const html = (await api.inject('/')).body
  const named = [...html.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, url]) => String(url))
  const { imports } = JSON.parse(/importmap">(.*?)<\/script>/.exec(html)?.[1] ?? '{}') as {
    imports: Record<string, string>
  }
  const files = new Set([...named.filter((url) => !(url in imports)), ...Object.values(imports)])
  expect(files.size).toBeGreaterThan(40)

  for (let load = 0; load < 3; load += 1) {
    for (const url of files) {
      const { statusCode, headers } = await api.inject(url)
      expect({ url, statusCode }).toEqual({ url, statusCode: 200 })
      expect(headers['cache-control']).toBe('public, max-age=31536000, immutable')
      expect(headers.ratelimit).toBeUndefined()
    }
  }
  const preloaded = [...html.matchAll(/modulepreload" href="([^"]+)"/g)].map(([, url]) => url)
  const modules = Object.values(imports).filter((url) => /\.[jt]s$/.test(url))
  expect(new Set(preloaded)).toEqual(new Set(modules))
  expect(imports['/assets/page.js']).toMatch(/^\/assets\/page-[\w-]{16}\.js$/)
  expect((await api.inject('/assets/page-0000000000000000.js')).statusCode).toBe(404)
})

it.each(['/', '/assets/page.js'])('a browser asks for %s each time, which counts', async (url) => {
  expect((await startApi().inject(url)).headers.ratelimit).toBeDefined()
})
