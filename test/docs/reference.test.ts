import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { referencePages } from '../../docs/source/reference-pages.ts'

describe('a page of docs/reference', () => {
  it.each(referencePages())('$name says what the program says; else run: npm run docs', (page) => {
    expect(page.current).toBe(page.generated)
  })
})

it('the rules of truth have at most 1,200 words', () => {
  const page = new URL('../../docs/reference/truth.md', import.meta.url)

  expect(readFileSync(page, 'utf8').match(/\S+/g)?.length).toBeLessThanOrEqual(1_200)
})
