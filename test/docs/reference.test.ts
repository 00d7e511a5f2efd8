import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { referencePages } from '../../docs/source/reference-pages.ts'
import { FAILING_DAYS, TRIED_FOR } from '../../src/delivery/dispatch/delivery-rules.ts'
import { KEPT_DAYS } from '../../src/delivery/dispatch/end-deliveries.ts'
import { MAX_ENDPOINTS } from '../../src/delivery/endpoints/endpoint-settings.ts'
import { PROBLEMS } from '../../src/platform/http/problem-codes.ts'

const read = (name: string) =>
  readFileSync(new URL(`../../docs/reference/${name}`, import.meta.url), 'utf8')

describe('a page of docs/reference', () => {
  it.each(referencePages())('$name says what the program says; else run: npm run docs', (page) => {
    expect(page.current).toBe(page.generated)
  })
})

it.each([
  [
    'webhooks.md',
    `**dead** ${TRIED_FOR.hoursAfterFirstAttempt} hours after its first attempt or ${TRIED_FOR.daysAfterRecord} days after its record`,
  ],
  ['webhooks.md', `all fail for ${FAILING_DAYS} days is **disabled**`],
  ['webhooks.md', `You may have ${MAX_ENDPOINTS} endpoints`],
  ['webhooks.md', `Deliveries are kept for ${KEPT_DAYS} days`],
  ['deploying.md', `| deliveries that have ended, and attempts | ${KEPT_DAYS} days |`],
])('%s says "%s", as the program does', (page, sentence) => {
  expect(read(page)).toContain(sentence)
})

describe('the page of the API', () => {
  const page = read('api.md')

  it('has the title of the problem that it shows', () => {
    expect(page).toContain(`"title": "${PROBLEMS['request.invalid_parameter'].title}"`)
  })

  it('names the operations that need no key', () => {
    const { paths } = JSON.parse(read('openapi.json')) as Record<'paths', Record<string, object>>
    const open = Object.entries(paths).filter(([, methods]) =>
      JSON.stringify(methods).includes('"security":[]'),
    )

    expect(new Set(open.map(([path]) => path))).toEqual(
      new Set(['/api/v1/sign-in', '/api/v1/vocabulary', '/api/v1/watch-links/{code}']),
    )
    expect(page).toMatch(
      /needs a key, except\n`POST \/api\/v1\/sign-in`.+`GET \/api\/v1\/vocabulary`/,
    )
  })
})
