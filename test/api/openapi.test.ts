import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { API_DOCUMENT } from '../../src/app/api-document.ts'
import { API_OPERATIONS } from '../../src/app/api-operations.ts'
import { propertiesOf } from '../../src/platform/http/read-parameters.ts'

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

describe('docs/reference/openapi.json', () => {
  it('the document is what the code generates; "npm run openapi" writes it', () => {
    expect(JSON.parse(read('openapi.json'))).toEqual(JSON.parse(JSON.stringify(API_DOCUMENT)))
  })
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

describe('the operations', () => {
  it.each(API_OPERATIONS.map((operation) => [operation.id, operation] as const))(
    '%s declares all its parameters and has example values for those of its path',
    (_id, { path, params, query, body, example, scope, audience }) => {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)

      expect(path).toMatch(/^\/api\/v1\/[a-z{}A-Z/-]+$/)
      expect(Object.keys(propertiesOf(params))).toEqual(inPath)
      expect(Object.keys(example.params ?? {})).toEqual(inPath)
      expect(example.body === undefined).toBe(body === undefined)
      for (const schema of [params, query].filter((given) => given !== undefined)) {
        expect(schema).toMatchObject({ additionalProperties: false })
      }
      const parameters = propertiesOf(query)
      if ('limit' in parameters)
        expect(parameters.limit).toMatchObject({ minimum: 1, maximum: expect.any(Number) })
      expect(scope === 'operate').toBe(audience === 'operators')
      if (scope === 'watch') expect(audience).toBe('resellers')
    },
  )
})

describe('the schemas of the document', () => {
  const schemas: Record<string, unknown>[] = []
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    if (!Array.isArray(value)) schemas.push(value as Record<string, unknown>)
    for (const member of Object.values(value)) collect(member)
  }
  collect(API_DOCUMENT)

  it('the schemas that clients use are named components', () => {
    const { components } = API_DOCUMENT as { components: { schemas: object } }

    expect(Object.keys(components.schemas)).toEqual(
      expect.arrayContaining([
        'Belief',
        'ChangeReason',
        'BeliefState',
        'Place',
        'Price',
        'Problem',
        'ProblemCode',
        'Route',
        'RouteChange',
        'Run',
        'SavedWatches',
        'VerifyResult',
        'Watch',
        'WatchChange',
        'WatchChangeKind',
        'WatchChangePage',
        'WatchList',
        'WatchListPage',
        'WatchStates',
        'WatchStatus',
      ]),
    )
  })
})
