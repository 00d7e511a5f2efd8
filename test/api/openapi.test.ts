import { readFileSync } from 'node:fs'
import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { API_DOCUMENT } from '../../src/app/api-document.ts'
import { API_OPERATIONS } from '../../src/app/api-operations.ts'
import { parameterReader, propertiesOf } from '../../src/platform/http/read-parameters.ts'

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

/** The references within a part of the document. */
function referencesIn(part: unknown): string[] {
  if (typeof part !== 'object' || part === null) return []
  return Object.entries(part).flatMap(([name, value]) =>
    name === '$ref' ? [value as string] : referencesIn(value),
  )
}

/** What a reference names. Undefined if it names nothing. */
function referenced(reference: string): unknown {
  const names = reference.replace(/^#\//, '').split('/')
  return names.reduce<unknown>(
    (part, name) => (part as Record<string, unknown> | undefined)?.[name],
    API_DOCUMENT,
  )
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

describe('the components of the document', () => {
  const references = new Set(referencesIn(API_DOCUMENT))

  it('every reference names a part of the document', () => {
    expect(references.size).toBeGreaterThan(100)
    expect([...references].filter((each) => referenced(each) === undefined)).toEqual([])
  })

  it('every response and parameter is referred to, and has a name that OpenAPI allows', () => {
    const { responses, parameters } = API_DOCUMENT.components
    const names = [
      ...Object.keys(responses).map((name) => `#/components/responses/${name}`),
      ...Object.keys(parameters).map((name) => `#/components/parameters/${name}`),
    ]

    expect(names.filter((name) => !references.has(name))).toEqual([])
    for (const name of names) expect(name).toMatch(/^#\/components\/\w+\/[\w.-]+$/)
  })

  it('every parameter and every tag says what it is', () => {
    const { paths, components } = API_DOCUMENT
    const inline = Object.values(paths)
      .flatMap((path) => Object.values(path) as { parameters: { name?: string }[] }[])
      .flatMap(({ parameters }) => parameters.filter(({ name }) => name !== undefined))
    const named = [...inline, ...Object.values(components.parameters), ...API_DOCUMENT.tags]

    expect(named.filter((one) => !('description' in one && one.description))).toEqual([])
  })

  it('operations that answer the same problems share a response', () => {
    const shared = Object.values(API_DOCUMENT.components.responses).map((each) =>
      JSON.stringify(each),
    )

    expect(new Set(shared).size).toBe(shared.length)
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

  it('operations with versions document conditional requests', () => {
    const ifNoneMatch = { $ref: '#/components/parameters/If-None-Match' }
    const headers = {
      ETag: expect.any(Object) as object,
      'Last-Modified': expect.any(Object) as object,
      'farewatch-snapshot-age': expect.any(Object) as object,
    }

    expect(API_DOCUMENT.components.parameters['If-None-Match']).toMatchObject({ in: 'header' })
    expect(paths['/api/v1/data/routes']).toMatchObject({
      get: {
        parameters: expect.arrayContaining([ifNoneMatch]) as object,
        responses: { 200: { headers }, 304: { headers } },
      },
    })
  })
})

describe('the operations', () => {
  it('every operation has its own id and address', () => {
    const ids = API_OPERATIONS.map(({ id }) => id)
    const addresses = API_OPERATIONS.map(
      ({ method, path }) => `${method} ${path.replace(/\{\w+\}/g, '{}')}`,
    )

    expect(new Set(ids).size).toBe(ids.length)
    expect(new Set(addresses).size).toBe(addresses.length)
  })

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
      expect(scope === 'operate').toBe(audience === 'operators')
      if (scope === 'watch') expect(audience).toBe('resellers')
    },
  )

  it('the upstream has its own two folders, and no operation of ours is in them', () => {
    const isTheirs = ({ path }: { path: string }) => /^\/api\/v1\/(data|flights)\//.test(path)

    expect(API_OPERATIONS.filter(isTheirs).map(({ path }) => path)).toEqual([
      '/api/v1/data/routes',
      '/api/v1/data/routes/with-availability',
      '/api/v1/data/routes/csv',
      '/api/v1/flights/fares/verify',
    ])
    expect(API_OPERATIONS.filter(isTheirs)).toEqual(
      API_OPERATIONS.filter(({ upstream }) => upstream === true),
    )
  })

  it('every number parameter accepts its documented maximum', () => {
    const numbers = API_OPERATIONS.flatMap(({ params, query }) =>
      [params, query].flatMap((schema) => Object.entries(propertiesOf(schema))),
    ).filter(([, { maximum }]) => maximum !== undefined)

    expect(numbers.length).toBeGreaterThan(10)
    for (const [name, shape] of numbers) {
      const read = parameterReader(Type.Object({ [name]: Type.Unsafe<number>(shape) }))
      expect(read({ [name]: String(shape.maximum) })).toEqual({ [name]: shape.maximum })
    }
  })
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

  it('every enum has a type', () => {
    const enums = schemas.filter((schema) => Array.isArray(schema.enum))

    expect(enums.length).toBeGreaterThan(3)
    expect(enums.filter(({ type }) => type !== 'string')).toEqual([])
  })
})
