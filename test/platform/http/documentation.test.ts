import { brotliDecompressSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createApi } from '../../../src/platform/http/api.ts'
import { DOCS_FILES, docsAddress } from '../../../src/platform/http/docs-files.ts'
import { markdown } from '../../../src/platform/http/docs-html.ts'
import { PROBLEMS, problemPage } from '../../../src/platform/http/problem-codes.ts'
import { noTransactions } from '../../support/no-transactions.ts'
import { requestLimits } from '../../support/request-limits.ts'
import { silentLog } from '../../support/silent-log.ts'

const DOCUMENT = { openapi: '3.1.0', info: { title: 'x'.repeat(5_000), version: '1' }, paths: {} }

function anApi(limits = requestLimits()) {
  const server = createApi({
    log: silentLog,
    operations: [],
    deps: {},
    transactions: noTransactions(),
    document: DOCUMENT,
    access: { callerOf: async () => 'unknown' },
    ...limits,
  })
  onTestFinished(() => server.close())
  return (url: string, headers: Record<string, string> = {}) =>
    server.inject({ method: 'GET', url, headers })
}

describe('the codes of problems', () => {
  it('the type of each is a page with its status, cause and remedy', async () => {
    const get = anApi()

    for (const [code, { status, cause }] of Object.entries(PROBLEMS)) {
      const page = await get(problemPage(code))
      expect(page.statusCode, code).toBe(200)
      expect(page.payload).toContain(`<code>${code}</code>, status ${status}`)
      expect(page.payload).toContain(markdown(cause))
      expect(page.payload).toContain('<h2>Remedy</h2>')
    }
    expect((await get('/docs/problems/none')).json()).toMatchObject({
      code: 'not_found',
      missing: 'operation',
      type: problemPage('not_found'),
    })
  })

  it('404 is one code, 429 is about rates alone, and quotas are conflicts', () => {
    const codesOf = (wanted: number) =>
      Object.entries(PROBLEMS).flatMap(([code, { status }]) => (status === wanted ? [code] : []))
    const quotas = Object.entries(PROBLEMS).filter(([code]) => code.startsWith('quota.'))

    expect(codesOf(404)).toEqual(['not_found'])
    expect(codesOf(429)).toEqual(['access.too_many_requests'])
    expect(new Set(quotas.map(([, { status }]) => status))).toEqual(new Set([409]))
  })
})

describe('the documentation, which needs no key', () => {
  const kinds = ['/docs/runbooks', '/docs/api.md', '/llms.txt', '/docs/problems/not_found']
  it.each([
    '/openapi.json',
    '/docs',
    '/docs/',
    '/docs/events/v1/place.changed.schema.json',
    ...kinds,
    // Fault: Many callers without a key ask for `/openapi.json` and `/docs`.
  ])('%s is sent from memory in each encoding, with one tag', async (url) => {
    const get = anApi()

    const plain = await get(url)
    const small = await get(url, { 'accept-encoding': 'gzip, br' })
    const known = { 'if-none-match': String(plain.headers.etag), 'accept-encoding': 'br' }

    if (url === '/openapi.json') expect(plain.json()).toEqual(DOCUMENT)
    expect(small.headers['content-encoding']).toBe('br')
    // A body that is compressed for the request has no length.
    expect(small.headers['content-length']).toBe(String(small.rawPayload.length))
    expect(brotliDecompressSync(small.rawPayload).toString()).toBe(plain.payload)
    expect(small.headers.etag).toBe(plain.headers.etag)
    expect((await get(url, known)).statusCode).toBe(304)
  })

  it('requests for the documentation count by address, and a refusal is held back', async () => {
    const get = anApi({ ...requestLimits(0.1), refusalMs: 100 })

    expect((await get('/openapi.json')).statusCode).toBe(200)
    const fromMs = performance.now()
    expect((await get('/docs')).statusCode).toBe(429)

    expect(performance.now() - fromMs).toBeGreaterThan(95)
  })
})

describe('the guides', () => {
  const addresses = [...DOCS_FILES.keys()].map((name) => `/docs/${name}`)

  it('links of each page lead to parts and pages that are served', async () => {
    const get = anApi()
    const pages = new Map<string, string>([
      ['/docs', ''],
      ['/docs/search', ''],
    ])
    for (const address of addresses) pages.set(address, (await get(address)).payload)

    const links = [...pages].flatMap(([address, html]) =>
      [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = '']) => ({ address, link })),
    )
    const broken: string[] = []
    for (const { address, link } of links.filter(({ link: to }) => !to.startsWith('https://'))) {
      const [page = '', anchor] = link.split('#')
      if (/\.json$/.test(page)) pages.set(page, (await get(page)).json() && '')
      const target = pages.get(page === '' ? address : page)
      const isBroken = target === undefined || (anchor && !target.includes(` id="${anchor}"`))
      if (isBroken) broken.push(`${address}: ${link}`)
    }

    expect(broken).toEqual([])
    expect(pages.get('/docs/resellers')).toContain('href="/docs/webhooks"')
  })

  it.each([
    'resellers',
    'api',
    'watch-lists',
    'webhooks',
    'events',
    'problem-codes',
    'truth',
    'availability-states',
    'stability',
  ])('the page %s for resellers refers to nothing that only a checkout has', (name) => {
    const { text = '' } = DOCS_FILES.get(name) ?? {}
    const links = [...text.matchAll(/(?<!!)\[[^\]]*\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)

    expect(text).not.toBe('')
    expect(links.filter((link) => docsAddress(link) === undefined)).toEqual([])
    expect(text).not.toContain('@.farewatch')
  })

  it('raw HTML of a page is shown as text, and is not run', () => {
    expect(markdown('a <script>alert(1)</script> ![x](y) [z](javascript:alert(1))')).toBe(
      '<p>a &#60;script&#62;alert(1)&#60;/script&#62; <em>x</em> z</p>\n',
    )
  })

  it('llms.txt names the Markdown of each page, and their links lead to Markdown', async () => {
    const get = anApi()
    const list = (await get('/llms.txt')).payload
    const links = [...list.matchAll(/\]\((\S+)\)/g)].map(([, link = '']) => link)

    expect(links).toEqual([...addresses.map((address) => `${address}.md`), '/openapi.json'])
    for (const link of links) expect((await get(link)).statusCode, link).toBe(200)
    const markdownOfResellers = await get('/docs/resellers.md')
    expect(markdownOfResellers.headers['content-type']).toBe('text/markdown; charset=utf-8')
    expect(markdownOfResellers.payload).toContain('](/docs/webhooks.md)')
  })

  it.each([
    ['how long is a key kept after rotation: rotate overlapSeconds', 'none'],
    ['overlapSeconds', '/docs/api#keys'],
    ['verify now', '/docs/resellers#verify-now'],
    ['access.mistyped_key', '/docs/problem-codes'],
  ])('a search for "%s" finds %s', async (asked, found) => {
    const page = await anApi()(`/docs/search?q=${encodeURIComponent(asked)}`)
    if (found === 'none') expect(page.payload).toContain('No section has these words')
    else expect(page.payload).toContain(`<a href="${found}`)
  })

  it('a hostile search is shown as text', async () => {
    const page = await anApi()(`/docs/search?q=${encodeURIComponent('"><script>x</script>')}`)

    expect(page.statusCode).toBe(200)
    expect(page.payload).not.toContain('<script')
    expect((await anApi()('/docs/search?q=a&q=b')).statusCode).toBe(200)
  })
})
