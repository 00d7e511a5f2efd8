import { codeBlock, docsPage, escaped, markdown } from './docs-html.ts'
import type { Operation } from './operation.ts'

interface Parameter {
  readonly name: string
  readonly in: string
  readonly description?: string
  readonly example?: unknown
}

type Content = Readonly<Record<string, { readonly schema?: object; readonly example?: unknown }>>
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
    panel(name, `<code>${name}</code>`, [schemaPart(schema)]),
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
      list('Parameters', parameters.map(parameterPart)),
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

function parameterPart({ name, in: where, description, example: _, ...rest }: Parameter): string {
  return `<dt><code>${escaped(name)}</code> in the ${where}</dt><dd>${markdown(description)}${schemaPart(rest)}</dd>`
}

/** The schema of each form of a body, and its example. */
function contentPart(title: string, content: Content = {}): string {
  return Object.entries(content)
    .map(([type, { schema, example }]) => {
      const text = typeof example === 'string' ? example : JSON.stringify(example, null, 2)
      const heading = title === '' ? '' : `<h3>${title}</h3>`
      const shape = schema === undefined ? '' : schemaPart(schema)
      return `${heading}<p>${type}${shape}${text === undefined ? '' : codeBlock(text)}`
    })
    .join('')
}

/** A part of the document as it is, with links to the shapes. */
function schemaPart(schema: object): string {
  return codeBlock(JSON.stringify(schema, null, 2)).replaceAll(
    /#\/components\/schemas\/(\w+)/g,
    '<a href="#$1">$1</a>',
  )
}
