import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { API_DOCUMENT } from '../../src/app/api-document.ts'

interface Answer {
  readonly $ref?: string
  readonly headers: Readonly<Record<string, { readonly $ref?: string }>>
}

interface Document {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<Record<string, { readonly responses: Readonly<Record<string, Answer>> }>>
    >
  >
  readonly components: {
    readonly headers: object
    readonly responses: Readonly<Record<string, Answer>>
  }
}

const DOCS = new URL('../../docs/reference/', import.meta.url)

function read(name: string): string {
  return readFileSync(new URL(name, DOCS), 'utf8')
}

it('the document is what the code generates; "npm run openapi" writes it', () => {
  expect(JSON.parse(read('openapi.json'))).toEqual(JSON.parse(JSON.stringify(API_DOCUMENT)))
})

describe('the headers of responses', () => {
  const { paths, components } = API_DOCUMENT as unknown as Document

  it('the document names the headers of every response once, and Retry-After for 409, 429 and 503', () => {
    for (const name of ['x-request-id', 'RateLimit', 'RateLimit-Policy']) {
      expect(API_DOCUMENT.info.description).toContain(`\`${name}\``)
      expect(components.headers).toHaveProperty(name)
    }
    const answers = Object.values(paths)
      .flatMap((path) => Object.values(path))
      .flatMap(({ responses }) => Object.entries(responses))

    for (const [status, answer] of answers) {
      const name = answer.$ref?.split('/').at(-1) ?? ''
      const { headers = {} } = components.responses[name] ?? answer
      expect('Retry-After' in headers).toBe(['409', '429', '503'].includes(status))
      for (const { $ref } of Object.values(headers)) {
        if ($ref !== undefined)
          expect(components.headers).toHaveProperty($ref.split('/').at(-1) ?? '')
      }
    }
  })
})
