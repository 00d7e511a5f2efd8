import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createScrub } from '../../../src/platform/base/secrets.ts'

const SECRET = 'p@ss/wörd +"\'<&>\\ 𝄞%7'
const scrub = createScrub([SECRET])
const MASKED = 'before [redacted] after'

const percent = (text: string) => encodeURIComponent(text)
const form = (text: string) => new URLSearchParams({ x: text }).toString().slice(2)
const json = (text: string) => JSON.stringify(text).slice(1, -1)
const lowerHex = (text: string) => text.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase())
const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const html = (text: string) => text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char)
const entities = (text: string) => Array.from(text, (char) => `&#x${hexOf(char)};`).join('')
const unicode = (text: string) =>
  text
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
const phpJson = (text: string) => json(text).replaceAll('/', '\\/')
const everyByte = (text: string) => Buffer.from(text).toString('hex').replace(/../g, '%$&')

function hexOf(char: string): string {
  return (char.codePointAt(0) ?? 0).toString(16).toUpperCase()
}

const SPELLINGS: readonly (readonly [string, (text: string) => string])[] = [
  ['raw', (text) => text],
  ['percent-encoded in upper case', percent],
  ['percent-encoded in lower case', (text) => lowerHex(percent(text))],
  ['percent-encoded where a path allows its characters', encodeURI],
  ['percent-encoded in every byte', everyByte],
  ['percent-encoded twice', (text) => percent(percent(text))],
  ['percent-encoded three times', (text) => percent(percent(percent(text)))],
  ['form-encoded', form],
  ['form-encoded in lower case', (text) => lowerHex(form(text))],
  ['form-encoded, then percent-encoded', (text) => percent(form(text))],
  ['JSON-escaped', json],
  ['JSON-escaped twice', (text) => json(json(text))],
  ['JSON-escaped with slashes', phpJson],
  ['JSON-escaped in every character', unicode],
  ['HTML-escaped', html],
  ['HTML-escaped twice', (text) => html(html(text))],
  ['HTML-escaped in every character', entities],
  ['HTML-escaped, then JSON-escaped', (text) => json(html(text))],
]

describe('the scrubber', () => {
  it.each(SPELLINGS)('masks a secret that is %s', (_name, spell) => {
    expect(scrub(`before ${spell(SECRET)} after`)).toBe(MASKED)
  })

  it('masks every occurrence of every secret, the longer secret first', () => {
    const both = createScrub(['secret-one', 'secret-one-and-more'])

    expect(both('secret-one, secret-one-and-more, secret-one')).toBe(
      '[redacted], [redacted], [redacted]',
    )
  })

  it('keeps a JSON line well-formed', () => {
    const line = JSON.stringify({
      level: 'info',
      msg: `a "${SECRET}" \\`,
      at: [SECRET, `\\${SECRET}`],
    })

    const scrubbed = JSON.parse(scrub(line)) as unknown

    expect(scrubbed).toMatchObject({ level: 'info', msg: 'a "[redacted]" \\' })
    expect(JSON.stringify(scrubbed)).not.toContain('wörd')
  })
})

describe('a secret is masked in every encoding', () => {
  const secrets = fc
    .string({ unit: 'grapheme', minLength: 6, maxLength: 40 })
    .filter((text) => text.isWellFormed())
  const spellings = fc.constantFrom(...SPELLINGS.map(([, spell]) => spell))
  const around = fc.string({ unit: 'grapheme-ascii', maxLength: 10 })

  it('for any secret, any encoding and any surrounding text', () => {
    fc.assert(
      fc.property(secrets, spellings, around, around, (secret, spell, before, after) => {
        const spelled = spell(secret)

        const scrubbed = createScrub([secret])(`${before}${spelled}${after}`)

        expect(scrubbed).toContain('[redacted]')
        expect(scrubbed).not.toContain(spelled)
      }),
      { numRuns: 100 },
    )
  })
})
