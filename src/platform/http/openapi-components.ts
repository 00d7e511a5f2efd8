import type { Operation } from './operation.ts'
import { rewriting } from './schemas.ts'

type Responding = Pick<
  Operation<never>,
  'answer' | 'upstream' | 'streams' | 'repeatable' | 'lock' | 'audience'
>

/** Descriptions of the headers that several operations share. */
const HEADERS = {
  'x-request-id': 'The id of the request: the one that the client sent, or a new one.',
  'RateLimit-Policy': 'The quota of requests, and the seconds in which it refills.',
  RateLimit: 'The remaining requests, and the seconds until the quota is full again.',
  'Retry-After': 'The seconds after which the client may try again.',
  'WWW-Authenticate':
    'Which kind of key is required, and what is wrong with the one that was sent.',
  'farewatch-ignored': 'The parameters that were ignored, percent-encoded.',
  ETag: 'The version of the response, for `If-None-Match` or `If-Match`.',
  Location: 'The address of what was made.',
  'Last-Modified': 'When this version began, for `If-Modified-Since`.',
} as const

type HeaderName = keyof typeof HEADERS

/** Headers of every response. The document names them once, and not at each operation. */
export const HEADERS_OF_ALL = ['x-request-id', 'RateLimit-Policy', 'RateLimit'] as const
const OF_PROBLEMS: Readonly<Record<number, readonly HeaderName[]>> = {
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  409: ['Retry-After'],
  429: ['Retry-After'],
  503: ['Retry-After'],
}

/** For `components.headers`. */
export const HEADER_COMPONENTS = withDescriptions(HEADERS)

/**
 * The headers of an operation's success response and of its 304, without those of every response.
 * @param isEdited whether two people may edit what the operation answers.
 */
export function answerHeaders({ answer, upstream }: Responding, isEdited: boolean): object {
  const named: HeaderName[] = []
  if (upstream === true) named.push('farewatch-ignored')
  if (answer.versioned === true) named.push('ETag', 'Last-Modified')
  if (isEdited) named.push('ETag')
  if (answer.location !== undefined) named.push('Location')
  return { ...references(named), ...withDescriptions(answer.headers ?? {}) }
}

export function problemHeaders(status: number): object {
  return references(OF_PROBLEMS[status] ?? [])
}

/** The request headers of operators, of conditional and repeated requests, and of clients that continue a stream. */
export function headerParameters({ answer, streams, repeatable, lock, audience }: Responding) {
  const headers = {
    'Farewatch-Reseller':
      audience === 'resellers' &&
      'With an operator’s key: the name of the reseller for whom you call, percent-encoded.',
    'Idempotency-Key':
      repeatable &&
      'Your name for this request. For a day a request with it and the same body is answered as the first one was, and makes nothing.',
    'If-Match':
      lock &&
      'The `ETag` of what you have read. If its settings have changed since, the answer is 412.',
    'If-None-Match': answer.versioned && 'The `ETag` of the response that the client has.',
    'If-Modified-Since':
      answer.versioned && 'The `Last-Modified` of that response. It is ignored if there is a tag.',
    'Last-Event-ID': streams && 'The id of the last event that the client has.',
  }
  return Object.entries(headers).flatMap(([name, description]) =>
    description
      ? [{ name, in: 'header', required: false, description, schema: { type: 'string' } }]
      : [],
  )
}

function references(names: readonly HeaderName[]): object {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

function withDescriptions(headers: Readonly<Record<string, string>>): object {
  return Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [
      name,
      { description, schema: { type: 'string' } },
    ]),
  )
}

/**
 * Collects the schemas with a title for `components.schemas`, and refers to them. An enum may have another
 * description at each place, which stays there.
 */
export interface SchemaComponents {
  /** The same schema, with a reference in the place of every schema that has a title. */
  refer(schema: unknown): unknown
  /** The collected schemas by title, in alphabetical order. */
  all(): Record<string, unknown>
}

/**
 * Throws if two different schemas have the same title.
 * @param taken components of the same document. A schema that differs from the one with its title is named `…Input`.
 */
export function createSchemaComponents(taken: Json = {}): SchemaComponents {
  const found = new Map<string, unknown>()

  const refer = rewriting((schema) => {
    const { title, ...members } = schema
    // A property that is named "title" has a schema here, and no text.
    const own: Json = typeof title === 'string' ? members : schema
    const referring = withMapping(
      own,
      withNullType(
        Object.fromEntries(Object.entries(own).map(([name, value]) => [name, refer(value)])),
      ),
    )
    if (typeof title !== 'string') return referring
    const { description, ...plain } = referring
    const isEnum = 'enum' in plain || 'x-extensible-enum' in plain
    const isDescribedEnum = isEnum && description !== undefined
    const component = isDescribedEnum ? plain : referring
    const isTaken = title in taken && !isSame(taken[title], component)
    const name = isTaken ? `${title}Input` : title
    if (!isSame(found.get(name) ?? component, component)) {
      throw new Error(`two schemas have the title ${name}`)
    }
    found.set(name, component)
    return {
      $ref: `#/components/schemas/${name}`,
      ...(isDescribedEnum ? { description } : {}),
    }
  })
  return {
    refer,
    all: () => Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}

/** Says of a union by a member which choice each value of the member has. */
function withMapping({ anyOf, discriminator }: Json, referring: Record<string, unknown>) {
  const { propertyName } = (discriminator ?? {}) as { readonly propertyName?: string }
  if (propertyName === undefined) return referring
  const references = referring.anyOf as readonly { readonly $ref: string }[]
  const mapping = (anyOf as readonly Choice[]).flatMap(({ properties }, i) => {
    const values = properties[propertyName]?.enum ?? []
    return values.map((value) => [value, references[i]?.$ref] as const)
  })
  return { ...referring, discriminator: { propertyName, mapping: Object.fromEntries(mapping) } }
}

interface Choice {
  readonly properties: Readonly<Record<string, { readonly enum?: readonly string[] }>>
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

type Json = Readonly<Record<string, unknown>>

/** Writes "one type or null" as one schema with two types, if that means the same: no enum, no reference. */
function withNullType(schema: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return schema
  const [one, other] = anyOf as Readonly<Record<string, unknown>>[]
  if (typeof one?.type !== 'string' || 'enum' in one || 'const' in one) return schema
  if (other?.type !== 'null' || Object.keys(one).some((name) => name in rest)) return schema
  return { ...one, type: [one.type, 'null'], ...rest }
}
