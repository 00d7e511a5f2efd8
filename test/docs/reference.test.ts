import { describe, expect, it } from 'vitest'
import { referencePages } from '../../docs/source/reference-pages.ts'

describe('a page of docs/reference', () => {
  it.each(referencePages())('$name says what the program says; else run: npm run docs', (page) => {
    expect(page.current).toBe(page.generated)
  })
})
