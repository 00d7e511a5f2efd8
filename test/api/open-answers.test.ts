import { Value } from 'typebox/value'
import { describe, expect, it } from 'vitest'
import { API_DOCUMENT } from '../../src/app/api-document.ts'

type Json = Readonly<Record<string, unknown>>
const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** As it is served, so that instants are text. */
const DOCUMENT = JSON.parse(JSON.stringify(API_DOCUMENT)) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Published>>>>
  readonly webhooks: Readonly<Record<string, { readonly post: Published }>>
}

/** A part of the document with what it refers to in the place of each reference. */
function resolved(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(resolved)
  if (!isJson(part)) return part
  const { $ref, ...rest } = part
  if (typeof $ref === 'string') {
    const names = $ref.replace(/^#\//, '').split('/')
    const found = names.reduce<unknown>((from, name) => (from as Json)[name], DOCUMENT)
    return { ...(resolved(found) as Json), ...rest }
  }
  return Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, resolved(value)]))
}

interface Body {
  readonly schema?: unknown
  readonly example?: unknown
}
interface Published {
  readonly operationId: string
  readonly requestBody?: { readonly content: Readonly<Record<string, Body>> }
  readonly responses?: Readonly<Record<string, { readonly content?: Record<string, Body> }>>
}

const OPERATIONS = Object.values(DOCUMENT.paths).flatMap((path) => Object.values(path))
const ANSWERS = OPERATIONS.flatMap(({ operationId, responses = {} }) =>
  Object.values(responses).flatMap(({ content = {} }) => {
    const { schema, example } = content['application/json'] ?? {}
    return isJson(example) && schema !== undefined ? [[operationId, schema, example] as const] : []
  }),
)
const EVENTS = Object.entries(DOCUMENT.webhooks).flatMap(([type, { post }]) => {
  const { schema, example } = post.requestBody?.content['application/json'] ?? {}
  return isJson(example) ? [[type, schema, example] as const] : []
})
const REQUESTS = OPERATIONS.flatMap(({ operationId, requestBody }) => {
  const { schema, example } = requestBody?.content['application/json'] ?? {}
  return isJson(example) ? [[operationId, schema, example] as const] : []
})

/** An answer as a later version may send it: with a member more in each object, and new values of each open list. */
function grown(schema: unknown, value: unknown): unknown {
  const { anyOf, items, properties, patternProperties, ...own } = isJson(schema) ? schema : {}
  if (Array.isArray(anyOf)) {
    const fitting = anyOf.find((one) => Value.Check(one as object, value))
    return fitting === undefined ? value : grown(fitting, value)
  }
  if (Array.isArray(value)) return value.map((item) => grown(items, item))
  if (typeof value === 'string') return 'x-extensible-enum' in own ? 'added_later' : value
  if (!isJson(value)) return value
  const [pattern] = Object.values(isJson(patternProperties) ? patternProperties : {})
  const known = isJson(properties) ? properties : {}
  const members = Object.entries(value).map(([name, part]) => [
    name,
    grown(known[name] ?? pattern, part),
  ])
  return { ...Object.fromEntries(members), ...(pattern === undefined ? { addedLater: true } : {}) }
}

describe('a strict reader of the published schemas', () => {
  it.each([...ANSWERS, ...EVENTS])(
    'accepts %s with members and values that a later version adds',
    (_name, published, example) => {
      const schema = resolved(published) as object
      const later = grown(schema, example)

      expect(Value.Errors(schema, example)).toEqual([])
      expect(JSON.stringify(later)).toContain('addedLater')
      expect(Value.Errors(schema, later)).toEqual([])
    },
  )

  it('accepts records and events of a kind that a later version adds', () => {
    const kindsOf = (name: string, member: string, examples: readonly Json[]) => {
      const schema = resolved({ $ref: `#/components/schemas/${name}` }) as object
      return examples.flatMap((example) =>
        Value.Errors(schema, { ...example, [member]: 'added_later' }),
      )
    }
    const events = EVENTS.map(([, , example]) => example)
    const records = events.flatMap(({ type, data }) =>
      String(type).startsWith('fare.') ? [data as Json] : [],
    )

    expect(records.length).toBeGreaterThan(5)
    expect(kindsOf('WatchChange', 'kind', records)).toEqual([])
    expect(kindsOf('WebhookEvent', 'type', events)).toEqual([])
  })

  it.each(REQUESTS)(
    'refuses a request of %s with a member that is not known',
    (_name, schema, example) => {
      const request = resolved(schema) as object

      expect(Value.Errors(request, example)).toEqual([])
      expect(Value.Check(request, { ...example, unknown: true })).toBe(false)
    },
  )
})

interface Union {
  readonly at: string
  readonly choices: readonly Json[]
  readonly discriminator?: {
    readonly propertyName: string
    readonly mapping: Readonly<Record<string, string>>
  }
}

/** Each union within a part of the document, without null among its choices. */
function unionsIn(part: unknown, at = ''): Union[] {
  if (typeof part !== 'object' || part === null) return []
  const { anyOf, oneOf = anyOf, discriminator } = part as Json & Pick<Union, 'discriminator'>
  const choices = Array.isArray(oneOf) ? oneOf.filter(({ type }: Json) => type !== 'null') : []
  return [
    ...Object.entries(part).flatMap(([name, value]) => unionsIn(value, `${at}/${name}`)),
    ...(choices.length > 1 ? [{ at, choices, ...(discriminator && { discriminator }) }] : []),
  ]
}

function isNarrowed({ choices, discriminator }: Union): boolean {
  const all = resolved(choices) as { type: unknown; properties: Record<string, Json> }[]
  const types = all.flatMap(({ type }) => type)
  if (!types.includes('object')) return new Set(types).size === types.length
  if (discriminator === undefined) return false
  const { propertyName, mapping } = discriminator
  return choices.every(({ $ref }, i) => {
    const values = all[i]?.properties[propertyName]?.enum as string[] | undefined
    // The choice of what a later version adds has no value of its own.
    return values?.every((value) => mapping[value] === $ref) ?? String($ref).includes('/Other')
  })
}

it('a program narrows each union by one member, or by the type of a plain value', () => {
  const unions = unionsIn(DOCUMENT)

  expect(unions.length).toBeGreaterThan(5)
  expect(unions.filter((union) => !isNarrowed(union))).toEqual([])
})
