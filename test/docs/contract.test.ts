import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { codeHelps, DEGRADED } from '../../grafana/source/alerts.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { createProgram } from '../../src/cli/program.ts'
import { SETTINGS } from '../../src/platform/config/settings.ts'
import { PROBLEMS } from '../../src/platform/http/problem-codes.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'

const REFERENCE = path.resolve(import.meta.dirname, '../../docs/reference')
const read = (name: string) => readFileSync(path.join(REFERENCE, name), 'utf8')
/** One name a line. `npm run contract` adds those that are new since the last release. */
const CONTRACT = `contract-${packageJson.version.split('.')[0]}.txt`

type Json = { readonly [key: string]: unknown }
const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null

/** The members of a schema, as `after.price.amount`. A shared schema is listed once, under its own name. */
function membersOf(schema: unknown, prefix: string): string[] {
  if (!isJson(schema)) return []
  const { properties, items, anyOf, oneOf, allOf, $defs } = schema
  const own = Object.entries(isJson(properties) ? properties : {}).flatMap(([name, value]) => [
    `${prefix}.${name}`,
    ...membersOf(value, `${prefix}.${name}`),
  ])
  const parts = [anyOf, oneOf, allOf].flatMap((part) => (Array.isArray(part) ? part : []))
  const shared = Object.entries(isJson($defs) ? $defs : {})
  return [
    ...own,
    ...membersOf(items, `${prefix}[]`),
    ...parts.flatMap((part) => membersOf(part, prefix)),
    ...shared.flatMap(([name, value]) => membersOf(value, `${prefix} ${name}`)),
  ]
}

const openapi = JSON.parse(read('openapi.json')) as {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Json; parameters: Record<string, Parameter> }
}
interface Parameter {
  readonly $ref?: string
  readonly name: string
  readonly in: string
  readonly required?: boolean
}
interface Operation {
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Record<string, { readonly schema?: Json }> }
  readonly responses: Record<string, { readonly content?: Record<string, { schema?: unknown }> }>
}

const operations = Object.entries(openapi.paths).flatMap(([address, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    name: `api ${method.toUpperCase()} ${address}`,
    parameters: (operation.parameters ?? []).map(
      (given) => openapi.components.parameters[given.$ref?.split('/').at(-1) ?? ''] ?? given,
    ),
    bodies: Object.values(operation.requestBody?.content ?? {}).map(({ schema }) => schema),
    operation,
  })),
)

function apiNames(): string[] {
  const ofOperations = operations.flatMap(({ name, parameters, bodies, operation }) => [
    name,
    ...parameters.map((parameter) => `${name} ${parameter.in} ${parameter.name}`),
    ...bodies.flatMap((body) => membersOf(body, `${name} body`)),
    ...Object.entries(operation.responses).flatMap(([status, { content = {} }]) =>
      Object.values(content).flatMap(({ schema }) => membersOf(schema, `${name} ${status}`)),
    ),
  ])
  const shared = Object.entries(openapi.components.schemas)
  return [...ofOperations, ...shared.flatMap(([name, schema]) => membersOf(schema, `api ${name}`))]
}

/** What a request must have. A new entry refuses requests that were good before. */
function requiredNames(): string[] {
  return operations.flatMap(({ name, parameters, bodies }) => [
    ...parameters.filter(({ required }) => required).map((one) => `${name} ${one.in} ${one.name}`),
    ...bodies.flatMap((body) => {
      const required = Array.isArray(body?.required) ? (body.required as string[]) : []
      return required.map((member) => `${name} body.${member}`)
    }),
  ])
}

function eventNames(): string[] {
  const folder = path.join(REFERENCE, '../events')
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.json'))
    .flatMap((name) => {
      const event = `event ${name.replace('.schema.json', '')}`
      const schema: unknown = JSON.parse(readFileSync(path.join(folder, name), 'utf8'))
      return [event, ...membersOf(schema, event)]
    })
}

function sqlNames(): string[] {
  const { sources } = parse(read('../analytics/dbt/sources.yml')) as {
    sources: { tables: { name: string; columns: { name: string; data_type: string }[] }[] }[]
  }
  return sources
    .flatMap(({ tables }) => tables)
    .flatMap(({ name, columns }) =>
      columns.map((column) => `sql ${name}.${column.name} ${column.data_type}`),
    )
}

/** Each metric of ours with its type and labels. */
function metricNames(): string[] {
  const { registry, systemRegistry } = createMetrics()
  return [registry, systemRegistry]
    .flatMap((one) => one.getMetricsAsArray())
    .filter(({ name }) => name.startsWith('farewatch_'))
    .map((metric) => {
      const { labelNames } = metric as unknown as { readonly labelNames: readonly string[] }
      return `${metric.name} ${metric.type} ${labelNames.map((name) => `\`${name}\``).join(', ')}`
    })
}

/** The alerts with names of their own, and that of all the rest. */
function alertNames(): string[] {
  return codeHelps()
    .flatMap(({ alert }) => alert ?? [])
    .map(({ name, after }) =>
      name === DEGRADED ? `${name} warning 15m` : `${name} critical ${after}`,
    )
}

/** Each command with the words before it, and its options, without those that all commands have. */
function commandNames(parent: Command, before = 'command'): string[] {
  return parent.commands.flatMap((command) => {
    const name = `${before} ${command.name()}`
    const options = command.options
      .filter(({ long, hidden }) => !hidden && long !== '--json' && long !== '--help')
      .map(({ long }) => `${name} ${long}`)
    return [name, ...options, ...commandNames(command, name)]
  })
}

const program = await createProgram()

function contractNames(): string[] {
  const names = [
    ...apiNames(),
    ...requiredNames().map((name) => `required ${name}`),
    ...eventNames(),
    ...sqlNames(),
    ...[...metricNames(), ...alertNames()].map((row) => `metric ${row}`),
    ...Object.keys(SETTINGS).map((name) => `setting ${name}`),
    ...Object.entries(PROBLEMS).map(([name, { status }]) => `problem ${name} ${status}`),
    ...commandNames(program),
  ]
  return [...new Set(names)].toSorted((a, b) => (a < b ? -1 : 1))
}

if (process.env.WRITE_CONTRACT !== undefined) {
  writeFileSync(path.join(REFERENCE, CONTRACT), `${contractNames().join('\n')}\n`)
}

describe(`the contract in ${CONTRACT}`, () => {
  const promised = read(CONTRACT).trimEnd().split('\n')
  const names = new Set(contractNames())

  it('keeps every name of the last release', () => {
    expect(promised.filter((name) => !names.has(name))).toEqual([])
  })

  it('requires nothing of a request that the last release did not require', () => {
    const known = new Set(promised)
    const added = requiredNames().filter(
      (name) => known.has(name.split(' ').slice(0, 3).join(' ')) && !known.has(`required ${name}`),
    )

    expect(added).toEqual([])
  })
})
