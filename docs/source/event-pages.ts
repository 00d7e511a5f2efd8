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

/** The bodies that are shown whole; each other one is shown by its differences from one of them. */
const WHOLE = [
  'fare.price_changed',
  'route.added',
  'warning.began',
  'webhook.test',
  'webhook.disabled',
]

/** An example of each form of body, and a table of all types with what differs from it. */
export function eventsPart(): string {
  const examples = WHOLE.map(
    (type) => `### ${type}\n\n\`\`\`json\n${compact(exampleOf(type))}\n\`\`\``,
  )
  const types = Object.keys(WEBHOOK_EVENTS).filter((type) => !type.startsWith('example.'))
  const rows = types.map((type) => {
    return `| [${type}](../events/v1/${type}.schema.json) | ${differencesOf(type)} |`
  })
  const head = ['| type, and its schema | differs from the example below in |', '|---|---|']
  const table = [...head, ...rows]
  return [table.join('\n'), ...examples].join('\n\n')
}

function exampleOf(type: string): object {
  return JSON.parse(JSON.stringify(WEBHOOK_EVENTS[type]?.example ?? {})) as object
}

/** What only records of a price have, as the text before the table says. */
const OF_PRICES = ['kind', 'intents.0', 'context', 'saving']

/** The members of the data that the example of this form does not have, or has with another value. */
function differencesOf(type: string): string {
  const whole = WHOLE.find(
    (one) => one.split('.')[0] === type.replace('place.', 'route.').split('.')[0],
  )
  if (whole === undefined || WHOLE.includes(type)) return `[shown whole](#${type.replace('.', '')})`
  const dataOf = (one: string) => (exampleOf(one) as Record<'data', object>).data
  const found = differences(dataOf(whole), dataOf(type))
    .filter(([path]) => !OF_PRICES.includes(path))
    .map(([path, value]) => {
      const parts = path.split('.')
      const name = code(parts.slice(0, 2).join('.'))
      return parts.length > 2 ? name : `${name} ${shortened(value)}`
    })
  return [...new Set(found)].join(', ')
}

const code = (text: string) => `\`${text}\``

type Difference = readonly [path: string, value: unknown]

function differences(from: unknown, to: unknown, path = ''): Difference[] {
  if (JSON.stringify(from) === JSON.stringify(to)) return []
  const isBoth = [from, to].every((one) => typeof one === 'object' && one !== null)
  if (!isBoth) return [[path, to]]
  const [before, after] = [from as Record<string, unknown>, to as Record<string, unknown>]
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].flatMap((name) =>
    differences(before[name], after[name], path === '' ? name : `${path}.${name}`),
  )
}

/** A value as code, or only that there is one where it is long. */
function shortened(value: unknown): string {
  if (value === undefined) return 'missing'
  const json = JSON.stringify(value)
  if (json.length <= 40) return code(json)
  return json.startsWith('{') ? 'set' : code(`${json.slice(0, 38)}…`)
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
