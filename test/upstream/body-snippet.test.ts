import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createScrub } from '../../src/platform/base/secrets.ts'
import {
  quotable,
  SNIPPET_SOURCE_BYTES,
  snippetOf,
} from '../../src/upstream/transport/body-snippet.ts'

const TOKEN = 'CANARY-0123456789-abcdefghijklmnopqrstuvwxyz'
const scrub = createScrub([TOKEN])

function snippet(text: string, complete = true): string | undefined {
  return snippetOf({ chunks: [Buffer.from(text)], complete }, scrub)
}

it.each([
  ['  one\n\ttwo\u0000\u001b[31m three ', 'one two [31m three'],
  ['', undefined],
  [' \n ', undefined],
  [`token ${TOKEN}!`, 'token [redacted]!'],
  ['see https://host/path?x=1 for more', 'see [address] for more'],
  ['accessToken=half-of-it&x=1', 'accessToken=[redacted]&x=1'],
  ['{"access_token": "half-of-it"}', '{"access_token": "[redacted]"}'],
])('the body %j is shown as %j', (body, expected) => {
  expect(snippet(body)).toBe(expected)
})

it('a snippet has at most 160 characters', () => {
  expect(snippet('word '.repeat(1_000))).toHaveLength(160)
})

it('a short body that was cut off is not shown, because it may end in half a secret', () => {
  expect(snippet(`token ${TOKEN.slice(0, 20)}`, false)).toBeUndefined()
})

it('no part of a secret is shown if the end of the read bytes splits it', () => {
  const filler = fc.constantFrom(' ', '\n', 'x', `${TOKEN} `, 'é')
  const before = fc.integer({ min: SNIPPET_SOURCE_BYTES - 60, max: SNIPPET_SOURCE_BYTES + 5 })
  fc.assert(
    fc.property(filler, before, (fill, length) => {
      const text = Buffer.from(fill.repeat(length)).subarray(0, length).toString('latin1')

      const shown = snippetOf(
        { chunks: [Buffer.from(text + TOKEN, 'latin1')], complete: true },
        scrub,
      )

      expect(shown ?? '').not.toContain('CANARY')
    }),
  )
})

it('a text is scrubbed before it is cut', () => {
  expect(quotable(`12345 ${TOKEN}`, scrub, 12)).toBe('12345 [reda…')
})
