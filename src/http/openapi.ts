import type { TSchema } from 'typebox'
import {
  answerHeaders,
  HEADER_COMPONENTS,
  problemHeaders,
  versionParameters,
} from './openapi-headers.ts'
import type { Operation } from './operation.ts'
import { PROBLEMS, type ProblemCode } from './problem-codes.ts'
import { PROBLEM_TYPE } from './problems.ts'
import { propertiesOf } from './read-parameters.ts'

export interface OpenApiInfo {
  readonly title: string
  readonly version: string
  readonly description: string
}

type AnyOperation = Omit<Operation<never>, 'run'>

/** What every operation may answer. */
const COMMON: readonly ProblemCode[] = [
  'request.invalid',
  'request.unknown_parameter',
  'request.doubled_parameter',
  'request.invalid_parameter',
  'request.key_in_query',
  'access.no_key',
  'access.mistyped_key',
  'access.unknown_key',
  'access.missing_scope',
  'access.too_many_requests',
  'internal',
  'store.unavailable',
]
const WITH_BODY: readonly ProblemCode[] = [
  'request.invalid_body',
  'request.too_large',
  'request.unsupported_type',
]

/** The OpenAPI 3.1 document of the operations: their schemas as they are, since both speak JSON Schema 2020-12. */
export function openApiDocument(operations: readonly AnyOperation[], info: OpenApiInfo): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of operations) {
    const path = paths[operation.path] ?? {}
    path[operation.method.toLowerCase()] = operationObject(operation)
    paths[operation.path] = path
  }
  return {
    openapi: '3.1.0',
    info,
    servers: [{ url: '/' }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'A key: `fwk_…`.' },
        accessToken: {
          type: 'apiKey',
          in: 'query',
          name: 'accessToken',
          description: 'The same key, on the endpoints that the upstream has too.',
        },
      },
      schemas: { Problem: PROBLEM_SCHEMA },
      headers: HEADER_COMPONENTS,
    },
  }
}

function operationObject(operation: AnyOperation): object {
  const { id, tag, summary, description, scope, upstream, audience, body, example } = operation
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: [{ bearer: [scope] }, ...(upstream === true ? [{ accessToken: [scope] }] : [])],
    'x-audience': audience,
    parameters: [
      ...parametersOf('path', operation.params, example.params),
      ...parametersOf('query', operation.query, example.query),
      ...versionParameters(operation),
    ],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: body, example: example.body } },
          },
        }),
    responses: { ...successOf(operation), ...problemsOf(operation) },
  }
}

function parametersOf(
  where: 'path' | 'query',
  schema: TSchema | undefined,
  examples: Readonly<Record<string, string>> = {},
): object[] {
  const required = (schema as { required?: string[] } | undefined)?.required ?? []
  return Object.entries(propertiesOf(schema)).map(([name, property]) => {
    const { description, ...rest } = property
    return {
      name,
      in: where,
      required: required.includes(name) && !('default' in property),
      ...(description === undefined ? {} : { description }),
      // Written with commas.
      ...(property.type === 'array' ? { style: 'form', explode: false } : {}),
      schema: rest,
      ...(examples[name] === undefined ? {} : { example: examples[name] }),
    }
  })
}

function successOf(operation: AnyOperation): object {
  const { answer, example } = operation
  const { about, status = 200, type = 'application/json', schema, versioned } = answer
  const headers = answerHeaders(operation)
  const content = {
    [type]: { ...(schema === undefined ? {} : { schema }), example: example.answer },
  }
  return {
    [status]: {
      description: about,
      headers,
      ...(status === 204 ? {} : { content }),
    },
    ...(versioned === true
      ? { 304: { description: 'The client has this version already.', headers } }
      : {}),
  }
}

function problemsOf({ problems = [], audience, body }: AnyOperation): object {
  const codes = new Set([
    ...COMMON,
    ...(body === undefined ? [] : WITH_BODY),
    ...(audience === 'resellers' ? (['access.resellers_only'] as const) : []),
    ...problems,
  ])
  const byStatus = Map.groupBy(codes, (code) => PROBLEMS[code].status)
  return Object.fromEntries(
    [...byStatus].map(([status, ofStatus]) => [
      status,
      {
        description: ofStatus.map((code) => `\`${code}\`: ${PROBLEMS[code].title}`).join('\n\n'),
        headers: problemHeaders(status),
        content: { [PROBLEM_TYPE]: { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    ]),
  )
}

const PROBLEM_SCHEMA = {
  type: 'object',
  description: 'A problem as RFC 9457 has it.',
  required: ['type', 'title', 'status', 'code'],
  properties: {
    type: { type: 'string', format: 'uri' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { type: 'string', enum: Object.keys(PROBLEMS), description: 'Stable, for machines.' },
    detail: { type: 'string', description: 'What is wrong with this request.' },
    parameter: { type: 'string', description: 'The parameter at fault.' },
    pointer: { type: 'string', description: 'The place at fault in the body, as a JSON pointer.' },
    reason: { type: 'string', description: 'Why the upstream told nothing; stable, for machines.' },
    errors: {
      type: 'array',
      description: 'Of a body with many rows: the first of its faults.',
      items: {
        type: 'object',
        required: ['pointer', 'detail'],
        properties: { pointer: { type: 'string' }, detail: { type: 'string' } },
      },
    },
    requestId: { type: 'string', description: 'As in the header x-request-id.' },
  },
}
