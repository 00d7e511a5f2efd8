import { execFileSync } from 'node:child_process'
import path from 'node:path'

/** What the API's document uses of JSON Schema. */
interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly discriminator?: object
  readonly items?: Schema
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: Readonly<Record<string, Schema>>
}

interface Response {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>
}

interface Operation {
  readonly responses: Readonly<Record<string, Response>>
}

export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const ROOT = path.resolve(import.meta.dirname, '../..')
const HEADER =
  '/* Generated from docs/reference/openapi.json by `npm run openapi`. Do not edit. */\n'

/** The formatted text of src/page/api-types.ts: what each operation answers, and all schemas. */
export function generateApiTypes({ paths, components }: ApiDocument): string {
  const answers = Object.entries(paths).flatMap(([address, operations]) => {
    const shape = address.replace('/api/v1', '').replaceAll(/\{\w+\}/g, '{}')
    return Object.entries(operations).map(
      ([method, { responses }]) => `'${method.toUpperCase()} ${shape}': ${answerOf(responses)}`,
    )
  })
  const types = Object.entries(components.schemas).map(
    ([name, schema]) => `export type ${name} = ${typeOf(schema)}`,
  )
  const input = [HEADER, `export interface Answers { ${answers.join('\n')} }`, ...types]
  return execFileSync('node_modules/.bin/biome', ['format', '--stdin-file-path=types.ts'], {
    cwd: ROOT,
    input: input.join('\n\n'),
    encoding: 'utf8',
  })
}

/** The answer of a success comes first. Without a body it is null, as the page decodes it. */
function answerOf(responses: Operation['responses']): string {
  const [{ content } = {}] = Object.values(responses)
  return content ? typeOf(content['application/json']?.schema) : 'null'
}

function typeOf(schema: Schema = {}): string {
  const { $ref, anyOf, type, discriminator, items } = schema
  if ($ref !== undefined) return $ref.replace(/.*\//, '')
  if (typeof type === 'object') return type.map((one) => typeOf({ ...schema, type: one })).join('|')
  const values = schema.enum ?? ('const' in schema ? [schema.const] : undefined)
  if (values) return values.map((value) => JSON.stringify(value)).join('|')
  if (anyOf) {
    // A union by kind has a choice for kinds to come, whose kind is any text: TypeScript could not tell the others from it.
    const choices = anyOf.map(typeOf).filter((name) => !discriminator || !/^Other/.test(name))
    return choices.join('|')
  }
  if (type === 'array') return `readonly (${typeOf(items)})[]`
  if (type === 'object') return objectOf(schema)
  return type?.replace('integer', 'number') ?? 'unknown'
}

function objectOf({ properties, patternProperties = {}, required = [] }: Schema): string {
  if (!properties) {
    return `Readonly<Record<string, ${typeOf(Object.values(patternProperties)[0])}>>`
  }
  const members = Object.entries(properties).map(
    ([name, schema]) => `readonly ${name}${required.includes(name) ? '' : '?'}: ${typeOf(schema)}`,
  )
  return `{ ${members.join('\n')} }`
}
