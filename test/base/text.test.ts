import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cleanText } from '../../src/base/text.ts'

describe('clean text', () => {
  it('has no NUL, which Postgres refuses', () => {
    expect(cleanText('a\0b\0')).toBe('ab')
  })

  it.each([
    ['\ud800x', '\ufffdx'],
    ['x\udc00', 'x\ufffd'],
    ['\udc00\ud800', '\ufffd\ufffd'],
    ['𝄞', '𝄞'],
  ])('has no lone surrogate: %j becomes %j', (text, expected) => {
    expect(cleanText(text)).toBe(expected)
  })

  it('keeps what is not too long, to the last character', () => {
    expect(cleanText('x'.repeat(500))).toBe('x'.repeat(500))
    expect(cleanText('four', 4)).toBe('four')
    expect(cleanText('')).toBe('')
  })

  it('ends in an ellipsis where it was cut', () => {
    expect(cleanText('x'.repeat(501))).toBe(`${'x'.repeat(499)}…`)
    expect(cleanText('fives', 4)).toBe('fiv…')
  })

  it('counts what is left once NULs are gone', () => {
    expect(cleanText(`${'\0'.repeat(100)}four`, 4)).toBe('four')
  })

  it('is well-formed where the cut goes through a pair of surrogates', () => {
    const cut = cleanText('ab𝄞cd', 4)

    expect(cut).toHaveLength(4)
    expect(cut).toMatch(/^ab.…$/u)
    expect(cut.isWellFormed()).toBe(true)
  })

  it('is fit for Postgres and within its length, whatever it was', () => {
    const anything = fc.string({ unit: 'binary', maxLength: 40 })
    const halves = fc.string({
      unit: fc.constantFrom('\ud834', '\udd1e', '\0', 'a'),
      maxLength: 40,
    })
    fc.assert(
      fc.property(fc.oneof(anything, halves), fc.integer({ min: 1, max: 40 }), (text, maxChars) => {
        const clean = cleanText(text, maxChars)

        expect(clean.length).toBeLessThanOrEqual(maxChars)
        expect(clean.isWellFormed()).toBe(true)
        expect(clean).not.toContain('\0')
        expect(cleanText(clean, maxChars)).toBe(clean)
      }),
    )
  })
})
