import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cleanText, durationText, nameFault } from '../../../src/platform/base/text.ts'
import { anyText } from '../../support/any-text.ts'

describe('clean text', () => {
  it.each([
    ['\ud800x', '\ufffdx'],
    ['x\udc00', 'x\ufffd'],
    ['\udc00\ud800', '\ufffd\ufffd'],
    ['𝄞', '𝄞'],
  ])('has no lone surrogate: %j becomes %j', (text, expected) => {
    expect(cleanText(text)).toBe(expected)
  })

  it('is valid for Postgres and within the limit for any input', () => {
    const anything = anyText({ maxLength: 40 })
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

it.each([
  [0, '0 s'],
  [-5_000, '0 s'],
  [499, '0 s'],
  [59_400, '59 s'],
  [59_600, '1 min'],
  [61_000, '1 min'],
  [3_599_000, '59 min'],
  [3_600_000, '1 h'],
  [11_100_000, '3 h 5 min'],
  [86_400_000, '1 d'],
  [183_600_000, '2 d 3 h'],
])('%d ms are %s', (ms, text) => {
  expect(durationText(ms)).toBe(text)
})

describe('a name', () => {
  it.each(['\u200b', '\u00ad', '\u3164', '\u2800', '\u200d\ufe0f', '\u034f\u2063'])(
    'of characters that leave nothing to see is refused: %j',
    (name) => {
      expect(nameFault(name)).toBe('must hold a character that can be seen')
    },
  )

  it.each(['A\u00adB', '👨\u200d👩', 'ص\u200cب'])(
    'may hold such characters among others: %j',
    (name) => {
      expect(nameFault(name)).toBeUndefined()
    },
  )
})
