import { existsSync, readFileSync } from 'node:fs'
import { WEBHOOK_EVENTS } from '../../src/delivery/operations/event-shapes.ts'
import { createSchemaComponents } from '../../src/platform/http/openapi-components.ts'
import { opened } from '../../src/platform/http/schemas.ts'
import type { ReferencePage } from './reference-pages.ts'

/** The JSON Schema of each body that webhooks send, as a file of docs/events. */
export function eventFiles(): ReferencePage[] {
  return Object.keys(WEBHOOK_EVENTS).map((type) => {
    const name = `${type}.schema.json`
    const path = new URL(`../events/v1/${name}`, import.meta.url)
    const current = existsSync(path) ? readFileSync(path, 'utf8') : ''
    return { name, path, current, generated: `${JSON.stringify(schemaOf(type), null, 2)}\n` }
  })
}

function schemaOf(type: string): object {
  const components = createSchemaComponents()
  const { about, schema } = WEBHOOK_EVENTS[type] ?? {}
  const { title = '' } = schema as { title?: string }
  components.refer(opened(schema))
  const { [title]: root, ...$defs } = components.all()
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `urn:farewatch:events:v1:${type}`,
    title: type,
    description: about,
    ...(withoutDocument(root) as object),
    ...(Object.keys($defs).length === 0 ? {} : { $defs: withoutDocument($defs) }),
  }
}

/** References stay within the file. */
function withoutDocument(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(withoutDocument)
  if (typeof part !== 'object' || part === null) return part
  return Object.fromEntries(
    Object.entries(part).map(([name, value]) => [
      name,
      name === '$ref'
        ? String(value).replace('#/components/schemas/', '#/$defs/')
        : withoutDocument(value),
    ]),
  )
}

/** One body of each form is shown whole. */
const WHOLE = ['fare.price_changed', 'route.added', 'warning.began', 'webhook.disabled']

/** The types with links to their schemas, and an example of each form of body. */
export function eventsPart(): string {
  const types = Object.keys(WEBHOOK_EVENTS).filter((type) => !type.startsWith('example.'))
  const links = types.map((type) => `[${type}](../events/v1/${type}.schema.json)`)
  const examples = WHOLE.map(
    (type) => `### ${type}\n\n\`\`\`json\n${compact(exampleOf(type))}\n\`\`\``,
  )
  return [`${links.join(',\n')}.`, ...examples].join('\n\n')
}

function exampleOf(type: string): object {
  return JSON.parse(JSON.stringify(WEBHOOK_EVENTS[type]?.example ?? {})) as object
}

/** JSON whose short values are on one line. */
function compact(value: unknown, indent = ''): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map((one) => compact(one, indent)).join(', ')}]`
  const members = (inner: string) =>
    Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${compact(one, inner)}`)
  const line = `{ ${members(indent).join(', ')} }`
  if (line.length + indent.length < 110 && !line.includes('\n')) return line
  const inner = `${indent}  `
  return `{\n${inner}${members(inner).join(`,\n${inner}`)}\n${indent}}`
}
