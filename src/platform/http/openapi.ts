import type { TSchema } from 'typebox'
import {
  answerHeaders,
  createSchemaComponents,
  HEADER_COMPONENTS,
  headerParameters,
  problemHeaders,
  type SchemaComponents,
} from './openapi-components.ts'
import type { Operation } from './operation.ts'
import { PROBLEMS, type ProblemCode } from './problem-codes.ts'
import { PROBLEM_TYPE, ProblemSchema } from './problems.ts'
import { propertiesOf } from './read-parameters.ts'
import { isEdited } from './safe-writes.ts'
import { opened } from './schemas.ts'

type AnyOperation = Omit<Operation<never>, 'run'>

/** The problems that every operation may answer. */
const COMMON: readonly ProblemCode[] = [
  'request.invalid',
  'request.unknown_parameter',
  'request.doubled_parameter',
  'request.invalid_parameter',
  'request.key_in_query',
  'access.too_many_requests',
  'internal',
  'store.unavailable',
  'server.busy',
]
const WITH_KEY: readonly ProblemCode[] = [
  'access.no_key',
  'access.mistyped_key',
  'access.unknown_key',
  'access.missing_scope',
]
const WITH_BODY: readonly ProblemCode[] = [
  'request.invalid_body',
  'request.too_large',
  'request.unsupported_type',
]

const WITH_REPEATS: readonly ProblemCode[] = ['request.still_running', 'request.other_repeated']

export interface OpenApiOptions {
  readonly info: {
    readonly title: string
    readonly version: string
    readonly description: string
    readonly license: { readonly name: string; readonly identifier: string }
  }
  /** What the operations of each tag are about. */
  readonly tags: Readonly<Record<string, string>>
  /** The body of each operation's response to its example request, by the operation's id. */
  readonly answers: Readonly<Record<string, unknown>>
  /** The bodies that are sent to receivers, by their `type`. */
  readonly events: Readonly<Record<string, SentEvent>>
  /** A schema that refers to all of them. */
  readonly eventUnion: TSchema
}

interface SentEvent {
  readonly about: string
  readonly schema: TSchema
  readonly example?: object
}

/**
 * The OpenAPI 3.1 document of the operations. It uses their schemas, because both speak JSON Schema 2020-12: those of
 * requests unchanged, those of answers and events opened.
 */
export function openApiDocument(
  operations: readonly AnyOperation[],
  { info, tags, answers, events, eventUnion }: OpenApiOptions,
) {
  const sent = createSchemaComponents()
  const responses: Shared = {}
  const parameters: Shared = {}
  const answered = operations.map((operation) => ({
    ...successOf(sent, operation, {
      example: answers[operation.id],
      isEdited: isEdited(operation, operations),
    }),
    ...problemsOf(sent, operation, responses),
  }))
  sent.refer(opened(eventUnion))
  const webhooks = Object.entries(events).map(([type, event]) => [
    type,
    { post: webhookObject(sent, event) },
  ])
  const received = createSchemaComponents(sent.all())
  const paths: Record<string, Record<string, object>> = {}
  for (const [i, operation] of operations.entries()) {
    const path = paths[operation.path] ?? {}
    path[operation.method.toLowerCase()] = {
      ...operationObject(received, operation, parameters),
      responses: answered[i],
    }
    paths[operation.path] = path
  }
  return {
    openapi: '3.1.0',
    info,
    servers: [{ url: '/' }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({
      name,
      description: tags[name],
    })),
    paths,
    webhooks: Object.fromEntries(webhooks) as Record<string, object>,
    components: {
      securitySchemes: SECURITY_SCHEMES,
      schemas: { ...sent.all(), ...received.all() },
      responses,
      parameters,
      headers: HEADER_COMPONENTS,
    },
  }
}

const SECURITY_SCHEMES = {
  bearer: { type: 'http', scheme: 'bearer', description: 'A key: `fwk_…`.' },
  accessToken: {
    type: 'apiKey',
    in: 'query',
    name: 'accessToken',
    description: 'The same key, for the endpoints that the upstream has too.',
  },
}

function operationObject(
  components: SchemaComponents,
  operation: AnyOperation,
  shared: Shared,
): object {
  const { id, tag, summary, description, scope, upstream, audience, body, csv, example } = operation
  const scopes = scope === 'any' ? [] : [scope]
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    security:
      audience === 'everybody'
        ? []
        : [{ bearer: scopes }, ...(upstream ? [{ accessToken: scopes }] : [])],
    'x-audience': audience,
    parameters: [
      ...parametersOf(components, { where: 'path', schema: operation.params }, example.params),
      ...parametersOf(components, { where: 'query', schema: operation.query }, example.query),
      ...headerParameters(operation),
    ].map((parameter) => sharedParameter(parameter, shared)),
    requestBody: body && {
      required: true,
      content: {
        'application/json': { schema: components.refer(body), example: example.body },
        ...(csv && {
          'text/csv': {
            schema: { type: 'string', description: csv.about },
            example: csv.example,
          },
        }),
      },
    },
  }
}

function webhookObject(components: SchemaComponents, { about, schema, example }: SentEvent) {
  return {
    summary: about,
    requestBody: {
      required: true,
      content: { 'application/json': { schema: components.refer(opened(schema)), example } },
    },
    responses: { '2XX': { description: 'The receiver has stored the message.' } },
  }
}

/** What the parameters of paths are. */
const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  reseller: 'The name of the reseller.',
  keyId: 'The id of the key.',
  fareId: 'The id of the fare.',
  incidentId: 'The id of the incident.',
  runId: 'The id of the run.',
  seq: 'The number of the record in its feed.',
  placeId: 'The id of the place in the route lists.',
  departureId: 'The id of the place of departure in the route lists.',
  destinationId: 'The id of the destination in the route lists.',
}

/** Parts of operations by name, for `components`. */
type Shared = Record<string, object>

/** Refers to a parameter. Only the first form of several parameters with one name is shared. */
function sharedParameter(parameter: { readonly name: string }, shared: Shared): object {
  // Brackets may not be part of a component's name.
  const name = parameter.name.replaceAll(/\[(\w+)\]/g, '.$1')
  shared[name] ??= parameter
  const isSame = JSON.stringify(shared[name]) === JSON.stringify(parameter)
  return isSame ? { $ref: `#/components/parameters/${name}` } : parameter
}

function parametersOf(
  components: SchemaComponents,
  { where, schema }: { readonly where: 'path' | 'query'; readonly schema: TSchema | undefined },
  examples: Readonly<Record<string, string>> = {},
) {
  const required = (schema as { required?: string[] } | undefined)?.required ?? []
  return Object.entries(propertiesOf(schema)).map(([name, property]) => {
    const { description = where === 'path' ? PATH_PARAMETERS[name] : undefined, ...rest } = property
    return {
      name,
      in: where,
      required: required.includes(name) && !('default' in property),
      description,
      // Separated by commas. Repetition is accepted too, but OpenAPI can declare only one form.
      ...(property.type === 'array' && { style: 'form', explode: false }),
      schema: components.refer(rest),
      example: examples[name] && exampleOf(property, examples[name]),
    }
  })
}

/** The example of a parameter in the type of its schema. */
function exampleOf({ type }: Readonly<Record<string, unknown>>, text: string): unknown {
  if (type === 'array') return text.split(',')
  return type === 'integer' || type === 'boolean' ? JSON.parse(text) : text
}

function successOf(
  components: SchemaComponents,
  operation: AnyOperation,
  { example, isEdited }: { readonly example: unknown; readonly isEdited: boolean },
): object {
  const { answer } = operation
  const { about, status = 200, type = 'application/json', schema, versioned } = answer
  const headers = headersPart(answerHeaders(operation, isEdited))
  const content = {
    [type]: {
      schema: schema && components.refer(opened(schema)),
      example,
    },
  }
  return {
    [status]: { description: about, ...headers, ...(status !== 204 && { content }) },
    ...(versioned && {
      304: { description: 'The client already has this version.', ...headers },
    }),
  }
}

function headersPart(headers: object): object {
  return Object.keys(headers).length === 0 ? {} : { headers }
}

/** Refers to one response for each status. Operations that answer the same problems with it share the response. */
function problemsOf(
  components: SchemaComponents,
  { problems = [], audience, body, repeatable, lock }: AnyOperation,
  responses: Shared,
): object {
  const codes = new Set([
    ...COMMON,
    ...(audience === 'everybody' ? [] : WITH_KEY),
    ...(body ? WITH_BODY : []),
    ...(audience === 'resellers' ? (['access.resellers_only'] as const) : []),
    ...(repeatable ? WITH_REPEATS : []),
    ...(lock ? (['request.changed_meanwhile'] as const) : []),
    ...problems,
  ])
  const byStatus = Map.groupBy(codes, (code) => PROBLEMS[code].status)
  return Object.fromEntries(
    [...byStatus].map(([status, ofStatus]) => {
      const name = responseName(status, ofStatus)
      responses[name] ??= {
        description: ofStatus.map((code) => `\`${code}\`: ${PROBLEMS[code].title}`).join('\n\n'),
        ...headersPart(problemHeaders(status)),
        content: { [PROBLEM_TYPE]: { schema: components.refer(opened(ProblemSchema)) } },
      }
      return [status, { $ref: `#/components/responses/${name}` }]
    }),
  )
}

/**
 * A response is named after its status and the problems that not every operation has.
 * @example responseName(409, ['sync.not_held', 'sync.busy']) // 'Problem409SyncBusySyncNotHeld'
 */
function responseName(status: number, codes: readonly ProblemCode[]): string {
  const own = codes.filter((code) => ![...COMMON, ...WITH_KEY].includes(code)).toSorted()
  return `Problem${status}${own
    .flatMap((code) => code.split(/[._]/))
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('')}`
}
