import { codeBlock, docsPage, escaped, markdown } from './guides.ts'
import type { Operation } from './operation.ts'

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly 'x-extensible-enum'?: readonly unknown[]
  readonly format?: string
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly description?: string
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: Readonly<Record<string, Schema>>
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly description?: string
  readonly schema: Schema
  readonly example?: unknown
}

type Content = Readonly<Record<string, { readonly schema?: Schema; readonly example?: unknown }>>
type Reference = { readonly $ref: string }
type Named<T> = Readonly<Record<string, T>>

interface DocumentedOperation {
  readonly operationId?: string
  readonly tags?: readonly string[]
  readonly summary: string
  readonly description?: string
  readonly security?: readonly Named<readonly string[]>[]
  readonly 'x-audience'?: Operation<never>['audience']
  readonly parameters?: readonly (Parameter | Reference)[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Named<
    { readonly description: string; readonly content?: Content } | Reference
  >
}

/** What the page shows of the OpenAPI document. */
interface ApiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  readonly tags?: readonly { readonly name: string }[]
  readonly paths: Named<Named<DocumentedOperation>>
  readonly webhooks?: Named<Named<DocumentedOperation>>
  readonly components?: Partial<Named<Named<object>>>
}

/** The page to read the OpenAPI document: every operation with an example request, every message and every shape. */
export function apiPage(openApi: object): string {
  const document = openApi as ApiDocument
  const { info, tags = [], paths, webhooks = {}, components = {} } = document
  const entries = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  )
  const sections = tags.map(({ name }) => {
    const own = entries.filter(({ operation }) => operation.tags?.[0] === name)
    return [name, own.map((entry) => operationPart(document, entry)).join('')] as const
  })
  const messages = Object.entries(webhooks).map(([type, { post }]) =>
    post === undefined
      ? ''
      : panel(type, `<code>${type}</code>`, [
          markdown(post.summary),
          contentPart('The body', post.requestBody?.content),
        ]),
  )
  const shapes = Object.entries(components.schemas ?? {}).map(([name, schema]) =>
    panel(name, `<code>${name}</code>`, [shapePart(schema)]),
  )
  const all = [
    ...sections,
    ['Messages to receivers', messages.join('')],
    ['Shapes', shapes.join('')],
  ]
  const title = `${info.title} API`
  return docsPage(
    title,
    `<h1>${escaped(title)} <small>${escaped(info.version)}</small></h1>
${markdown(info.description)}
<p>Programs read the same at <a href="/openapi.json">/openapi.json</a>. In the examples, <code>$API</code> is the address of this
page without <code>/docs</code>, and <code>$KEY</code> a key.</p>
<ul>${all.map(([name = '']) => `<li><a href="#${idOf(name)}">${escaped(name)}</a></li>`).join('')}</ul>
${all.map(([name = '', part]) => `<h2 id="${idOf(name)}">${escaped(name)}</h2>\n${part}`).join('\n')}`,
  )
}

/** Sections have ids with a dash, so that none is the id of an operation or of a shape. */
function idOf(section: string): string {
  return `-${section.toLowerCase().replaceAll(/\W+/g, '-')}`
}

/** What opens with a click, or when a link leads into it. */
function panel(id: string, summary: string, parts: readonly string[]): string {
  return `<details><summary>${summary}</summary><div id="${id}">${parts.join('')}</div></details>\n`
}

interface Entry {
  readonly method: string
  readonly path: string
  readonly operation: DocumentedOperation
}

function operationPart(document: ApiDocument, entry: Entry): string {
  const { operation, method, path } = entry
  const { operationId = path, summary, description, requestBody } = operation
  const parameters = (operation.parameters ?? []).map((one) => resolved<Parameter>(document, one))
  const responses = Object.entries(operation.responses).map(([status, response]) => {
    const { description, content } = resolved<{ description: string; content?: Content }>(
      document,
      response,
    )
    const shown = status.startsWith('2') ? contentPart('', content) : ''
    return `<dt><code>${status}</code></dt><dd>${markdown(description)}${shown}</dd>`
  })
  return panel(
    operationId,
    `<b>${method.toUpperCase()}</b> <code>${escaped(path)}</code> ${escaped(summary)}`,
    [
      markdown(description),
      `<p>${callersOf(operation)}</p>`,
      codeBlock(curlOf(entry, parameters)),
      list('Parameters', parameters.map(parameterItem)),
      contentPart('The body', requestBody?.content),
      list('Responses', responses),
    ],
  )
}

/** A part of the document itself, or the shared part to which it refers. */
function resolved<T>({ components }: ApiDocument, part: T | Reference): T {
  if (!(typeof part === 'object' && part !== null && '$ref' in part)) return part as T
  const [group = '', name = ''] = part.$ref.split('/').slice(-2)
  return components?.[group]?.[name] as T
}

const CALLERS = {
  everybody: 'Needs no key.',
  anyone: 'For every key',
  resellers: 'For keys of resellers',
  operators: 'For keys of operators',
} as const

function callersOf(operation: DocumentedOperation): string {
  const audience = operation['x-audience'] ?? 'anyone'
  const [scope] = operation.security?.[0]?.bearer ?? []
  if (audience === 'everybody') return CALLERS.everybody
  return `${CALLERS[audience]}${scope === undefined ? '' : ` with the scope <code>${scope}</code>`}.`
}

/** The example request as a command. */
function curlOf({ method, path, operation }: Entry, parameters: readonly Parameter[]): string {
  const exampleOf = ({ example, name }: Parameter) => encodeURIComponent(String(example ?? name))
  const address = parameters
    .filter((one) => one.in === 'path')
    .reduce((found, one) => found.replace(`{${one.name}}`, exampleOf(one)), path)
  const query = parameters
    .filter((one) => one.in === 'query' && one.example !== undefined)
    .map((one, i) => `${i === 0 ? '?' : '&'}${one.name}=${exampleOf(one)}`)
  const { example } = operation.requestBody?.content['application/json'] ?? {}
  const body =
    example === undefined ? undefined : JSON.stringify(example).replaceAll("'", String.raw`'\''`)
  return [
    `curl ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}"$API${address}${query.join('')}"`,
    ...(operation['x-audience'] === 'everybody' ? [] : ['-H "Authorization: Bearer $KEY"']),
    ...(body === undefined ? [] : ['-H "Content-Type: application/json"', `-d '${body}'`]),
  ].join(' \\\n  ')
}

function list(title: string, items: readonly string[]): string {
  return items.length === 0 ? '' : `<h3>${title}</h3><dl>${items.join('')}</dl>`
}

/** The fields of each form of a body, and its example. */
function contentPart(title: string, content: Content = {}): string {
  return Object.entries(content)
    .map(([type, { schema, example }]) => {
      const text = typeof example === 'string' ? example : JSON.stringify(example, null, 2)
      const heading = title === '' ? '' : `<h3>${title}</h3>`
      const shape = schema === undefined ? '' : shapePart(schema)
      return `${heading}<p>${type}${shape}${text === undefined ? '' : codeBlock(text)}`
    })
    .join('')
}

function shapePart(schema: Schema): string {
  const items = fieldsOf(schema, '')
  const { properties, description = '' } = schema
  const type = properties === undefined ? `<p>${typeOf(schema)}</p>` : ''
  return `${type}${markdown(description)}${items.length === 0 ? '' : `<dl>${items.join('')}</dl>`}`
}

function parameterItem({ name, in: where, required, description, schema }: Parameter): string {
  const about = `${where === 'query' ? '' : `${where}, `}${required ? 'required, ' : ''}${typeOf(schema)}`
  return item(name, about, description)
}

function item(name: string, about: string, description?: string): string {
  return `<dt><code>${escaped(name)}</code> ${about}</dt><dd>${markdown(description)}</dd>`
}

/** The fields of a shape, with those of the objects inside it that have no name of their own. */
function fieldsOf(schema: Schema, before: string): string[] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const isRequired = schema.required?.includes(name) === true
    const about = `${isRequired ? '' : 'optional, '}${typeOf(field)}`
    const path = `${before}${name}`
    return [item(path, about, field.description), ...fieldsOf(field, `${path}.`)]
  })
  const within = [...(schema.anyOf ?? []), ...Object.values(schema.patternProperties ?? {})]
  const ofItems =
    schema.items === undefined ? [] : fieldsOf(schema.items, `${before.replace(/\.$/, '')}[].`)
  return [...own, ...ofItems, ...within.flatMap((one) => fieldsOf(one, before))]
}

/** The type of a schema with its limits, with links to named shapes. */
function typeOf(schema: Schema): string {
  const { $ref, anyOf, items, patternProperties, format, minimum, maximum } = schema
  if ($ref !== undefined) {
    const name = $ref.split('/').at(-1) ?? ''
    return `<a href="#${name}">${name}</a>`
  }
  const values = schema.const === undefined ? schema.enum : [schema.const]
  const known = values ?? schema['x-extensible-enum']
  if (known !== undefined) {
    const named = known.map((value) => `<code>${String(value)}</code>`).join(' or ')
    const orNull = schema.type?.includes('null') === true ? ' or null' : ''
    return `${named}${values === undefined ? ' or another' : ''}${orNull}`
  }
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' or ')
  if (items !== undefined) return `array of ${typeOf(items)}`
  const [named] = Object.values(patternProperties ?? {})
  if (named !== undefined) return `object of ${typeOf(named)}`
  const type = [schema.type ?? 'any'].flat().join(' or ')
  const range =
    minimum === undefined && maximum === undefined ? '' : ` ${minimum ?? '…'} to ${maximum ?? '…'}`
  const preset = schema.default === undefined ? '' : `, default ${String(schema.default)}`
  return `${format ?? type}${format !== undefined && type.includes('null') ? ' or null' : ''}${range}${preset}`
}
