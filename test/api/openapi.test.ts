import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { API_DOCUMENT } from '../../src/app/api-document.ts'
import { API_OPERATIONS } from '../../src/app/api-operations.ts'
import { PROBLEMS } from '../../src/http/problem-codes.ts'
import { propertiesOf } from '../../src/http/read-request.ts'

const DOCS = new URL('../../docs/', import.meta.url)

function read(name: string): string {
  return readFileSync(new URL(name, DOCS), 'utf8')
}

describe('docs/openapi.json', () => {
  it('is what the code says: "npm run openapi" writes it anew', () => {
    expect(JSON.parse(read('openapi.json'))).toEqual(JSON.parse(JSON.stringify(API_DOCUMENT)))
  })

  it('is OpenAPI 3.1', () => {
    expect(API_DOCUMENT).toMatchObject({ openapi: '3.1.0', info: { title: 'farewatch' } })
  })
})

describe('docs/api.md', () => {
  it('has every code of a problem, with its status and its title, and no other', () => {
    const rows = [...read('api.md').matchAll(/^\| `([a-z_.]+)` \| (\d{3}) \| (.+) \|$/gm)]

    expect(
      rows.map(([, code, status, title]) => ({ code, status: Number(status), title })),
    ).toEqual(Object.entries(PROBLEMS).map(([code, problem]) => ({ code, ...problem })))
  })
})

describe('the operations', () => {
  it('have each an id and an address of their own', () => {
    const ids = API_OPERATIONS.map(({ id }) => id)
    const addresses = API_OPERATIONS.map(
      ({ method, path }) => `${method} ${path.replace(/\{\w+\}/g, '{}')}`,
    )

    expect(new Set(ids).size).toBe(ids.length)
    expect(new Set(addresses).size).toBe(addresses.length)
  })

  it.each(API_OPERATIONS.map((operation) => [operation.id, operation] as const))(
    '%s declares its parameters, closed, and shows an example of the path’s',
    (_id, { path, params, query, body, example, scope, audience }) => {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)

      expect(path).toMatch(/^\/api\/v1\/[a-z{}A-Z/-]+$/)
      expect(Object.keys(propertiesOf(params))).toEqual(inPath)
      expect(Object.keys(example.params ?? {})).toEqual(inPath)
      expect(example.body === undefined).toBe(body === undefined)
      for (const schema of [params, query].filter((given) => given !== undefined)) {
        expect(schema).toMatchObject({ additionalProperties: false })
      }
      expect(scope === 'operate').toBe(audience === 'operators')
      if (scope === 'watch') expect(audience).toBe('resellers')
    },
  )
})
