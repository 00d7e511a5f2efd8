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

/** A section for each kind of body, with an example. */
export function eventsPart(): string {
  return Object.entries(WEBHOOK_EVENTS)
    .map(([type, { about, example }]) => {
      const link = `[${type}.schema.json](../events/v1/${type}.schema.json)`
      if (example === undefined) return `### ${type}\n\n${about} Schema: ${link}.`
      const body = JSON.stringify(example, null, 2)
      return `### ${type}\n\n${about} Schema: ${link}.\n\n\`\`\`json\n${body}\n\`\`\``
    })
    .join('\n\n')
}
