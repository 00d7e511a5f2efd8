import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = path.resolve(import.meta.dirname, '..')

/** The floors of docs/architecture.md: an import points to a lower floor, or stays in its own folder. */
const FLOORS: Readonly<Record<string, number>> = {
  cli: 11,
  embedded: 10,
  app: 9,
  health: 8,
  views: 7,
  fares: 6,
  page: 7,
  delivery: 6,
  watches: 5,
  routes: 5,
  schedule: 4,
  history: 4,
  sandbox: 4,
  upstream: 2,
  feeds: 3,
  resellers: 2,
  'platform/ticks': 2,
  'platform/airports': 1,
  'platform/config': 1,
  'platform/metrics': 1,
  'platform/db': 1,
  'platform/queue': 1,
  'platform/http': 1,
  'platform/base': 0,
}

/** The folder, or folders, that alone import a package; of `http` the endpoints of every feature may use types. */
const OWNERS: Readonly<Record<string, readonly string[]>> = {
  commander: ['cli'],
  'csv-stringify': ['cli', 'routes', 'sandbox', 'watches'],
  'csv-parse': ['watches'],
  yaml: ['watches'],
  undici: ['upstream', 'delivery'],
  nodemailer: ['delivery'],
  '@aws-sdk/client-s3': ['history'],
  '@modelcontextprotocol/server': ['cli'],
  'hyparquet-writer': ['history'],
  'ipaddr.js': ['delivery'],
  preact: ['page'],
  htm: ['page'],
  'd3-geo': ['page'],
  'd3-array': ['page'],
  'topojson-client': ['page'],
  pg: ['platform/db'],
  kysely: ['platform/db'],
  bullmq: ['platform/queue'],
  ioredis: ['platform/queue'],
  'prom-client': ['platform/metrics'],
  pino: ['platform/base'],
  'cron-parser': ['platform/base'],
  '@fastify/compress': ['platform/http'],
  '@fastify/rate-limit': ['platform/http'],
  '@fastify/under-pressure': ['platform/http'],
  marked: ['platform/http'],
  '@opentelemetry/api': ['app'],
  '@opentelemetry/context-async-hooks': ['app'],
  '@opentelemetry/exporter-trace-otlp-proto': ['app'],
  '@opentelemetry/resources': ['app'],
  '@opentelemetry/sdk-trace': ['app'],
}
const ENDPOINT_PACKAGES = new Set(['fastify', 'typebox'])
const MAX_FOLDER_FILES = 24
const MAX_FILE_LINES = 600
const GENERATED = ['src/platform/db/tables.ts', 'src/page/api-types.ts']

interface SourceFile {
  readonly name: string
  readonly room: string
  readonly text: string
  readonly imports: readonly string[]
}

function filesOf(folder: string, pattern: RegExp): string[] {
  return readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => pattern.test(name) && !name.includes('node_modules'))
    .map((name) => path.join(folder, name))
}

/** A folder of src, or of src/platform, whose folders have floors of their own; or the sandbox. */
function roomAt(name: string): string {
  const [top, room = '', folder = ''] = name.split('/')
  if (top === 'sandbox') return top
  return room === 'platform' ? `${room}/${folder}` : room
}

function readSource(name: string): SourceFile {
  const text = readFileSync(path.join(ROOT, name), 'utf8')
  const imports = [...text.matchAll(/^(?:import|export)\b[^'"]*?from '([^']+)'/gm)].map(
    (m) => m[1] ?? '',
  )
  return { name, room: roomAt(name), text, imports }
}

const sources = ['src', 'sandbox'].flatMap((top) => filesOf(top, /\.(ts|js)$/)).map(readSource)

function roomOf(file: SourceFile, specifier: string): string {
  const target = path.join(path.dirname(file.name), specifier)
  return /^(src|sandbox)\//.test(target) ? roomAt(target) : ''
}

function packageOf(specifier: string): string {
  const parts = specifier.split('/')
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '')
}

describe('the architecture', () => {
  it('sees the sources and their imports', () => {
    expect(sources.length).toBeGreaterThan(50)
    expect(sources.flatMap((file) => file.imports).length).toBeGreaterThan(200)
  })

  it('gives every folder its floor', () => {
    const rooms = new Set(sources.map((file) => file.room))
    expect([...rooms].filter((room) => !(room in FLOORS))).toEqual([])
  })

  it('lets imports only point down', () => {
    const wrong = sources.flatMap((file) =>
      file.imports
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => ({ specifier, to: roomOf(file, specifier) }))
        .filter(({ to }) => to !== '' && to !== file.room)
        .filter(({ to }) => (FLOORS[to] ?? 99) >= (FLOORS[file.room] ?? -1))
        .map(({ specifier }) => `${file.name} imports ${specifier}`),
    )
    expect(wrong).toEqual([])
  })

  it('keeps every package in the folder that owns it', () => {
    const wrong = sources.flatMap((file) =>
      file.imports
        .filter((specifier) => !specifier.startsWith('.') && !specifier.startsWith('node:'))
        .map(packageOf)
        .filter((name) => {
          if (!ENDPOINT_PACKAGES.has(name)) return !(OWNERS[name] ?? []).includes(file.room)
          return file.room !== 'platform/http' && !/-(operations|shapes)\.ts$/.test(file.name)
        })
        .map((name) => `${file.name} imports ${name}`),
    )
    expect(wrong).toEqual([])
  })

  it('reads the environment in the configuration alone', () => {
    const readers = sources
      .filter((file) => /process\.env\b/.test(file.text))
      .map((file) => file.name)
      .filter(
        (name) => name !== 'src/platform/config/config.ts' && name !== 'src/cli/work/database.ts',
      )
    expect(readers).toEqual([])
  })

  it('hands features the values they need, not the configuration', () => {
    const readers = sources
      .filter((file) => file.room !== 'platform/config')
      .filter((file) =>
        file.imports.some((specifier) => roomOf(file, specifier) === 'platform/config'),
      )
      .filter((file) => (FLOORS[file.room] ?? 0) < 8)
    expect(readers.map((file) => file.name)).toEqual([])
  })

  it('writes the schedule of checks in its own folder alone', () => {
    const write =
      /\b(?:insert into|update|delete from|insertInto\('|updateTable\('|deleteFrom\(')\s*fare_schedule/
    const writers = sources.filter(({ text }) => write.test(text)).map(({ room }) => room)
    expect(new Set(writers)).toEqual(new Set(['schedule']))
  })

  it('decides what a check shows without the schedule and the database', () => {
    const pure = ['answer', 'state', 'decide', 'mass'].map((name) => `src/fares/${name}.ts`)
    const decisions = sources.filter(({ name }) => pure.includes(name))
    expect(decisions).toHaveLength(4)
    const imports = decisions.flatMap((file) => file.imports.map((to) => roomOf(file, to)))
    expect(new Set(imports)).toEqual(
      new Set(['fares', 'upstream', 'platform/airports', 'platform/base']),
    )
    const upstream = decisions.flatMap(({ imports }) => imports.filter((to) => /upstream/.test(to)))
    expect(new Set(upstream)).toEqual(new Set(['../upstream/observation.ts']))
  })

  it('keeps what is particular to a provider in its folder', () => {
    const folders = sources
      .filter(({ name }) => /^src\/upstream\/.*-provider\.ts$/.test(name))
      .map(({ name }) => path.dirname(name))
    const importers = folders.flatMap((folder) =>
      sources
        .filter(({ name }) => path.dirname(name) !== folder)
        .filter(({ name, imports }) =>
          imports.some((to) => path.dirname(path.join(path.dirname(name), to)) === folder),
        )
        .map(({ name }) => name),
    )
    const mayChoose = [
      'src/app/app.ts',
      'src/upstream/probe/probe-upstream.ts',
      // The sandbox knows one provider.
      'src/embedded/demo-history.ts',
    ]
    expect(folders).toContain('src/upstream/fares')
    expect(importers.filter((name) => !mayChoose.includes(name))).toEqual([])
  })

  it('has no cycle of imports', () => {
    const graph = new Map(
      sources.map((file) => [
        file.name,
        file.imports
          .filter((specifier) => specifier.startsWith('.'))
          .map((specifier) => path.join(path.dirname(file.name), specifier)),
      ]),
    )
    expect(findCycle(graph)).toBeUndefined()
  })

  it('no room has a circle among its folders and the files at its root', () => {
    // A folder of a room is one unit, and so is each file directly below the room.
    const pathOf = (room: string) => (room === 'sandbox' ? room : `src/${room}`)
    const unitOf = (file: string) => {
      const folder = path.dirname(file)
      return folder === pathOf(roomAt(file)) ? file : folder
    }
    const graph = new Map<string, string[]>()
    for (const file of sources) {
      const from = unitOf(file.name)
      const to = file.imports
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => unitOf(path.join(path.dirname(file.name), specifier)))
        .filter((unit) => unit !== from && unit.startsWith(`${pathOf(file.room)}/`))
      graph.set(from, [...(graph.get(from) ?? []), ...to])
    }
    expect(graph.size).toBeGreaterThan(10)
    expect(findCycle(graph)).toBeUndefined()
  })

  it('keeps files small', () => {
    const all = ['src', 'sandbox', 'test', 'bench', 'migrations'].flatMap((folder) =>
      filesOf(folder, /\.(ts|js|sql)$/),
    )
    const lines = (name: string) => readFileSync(path.join(ROOT, name), 'utf8').split('\n').length
    const written = all.filter((name) => !GENERATED.includes(name))
    expect(written.filter((name) => lines(name) > MAX_FILE_LINES)).toEqual([])
  })

  it('keeps folders small', () => {
    const sizes = Map.groupBy(sources, (file) => path.dirname(file.name))
    expect([...sizes].filter(([, files]) => files.length > MAX_FOLDER_FILES)).toEqual([])
  })

  it('has no barrels, no silenced types and nothing left to do', () => {
    const odd = sources
      .filter(({ name, text }) => {
        return (
          name.endsWith('/index.ts') || /@ts-(ignore|expect-error)|\bTO-?DO\b|\bFIXME\b/.test(text)
        )
      })
      .map((file) => file.name)
    expect(odd).toEqual([])
  })
})

/** The first cycle found by a depth-first walk, as the names along it. */
function findCycle(graph: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>()
  const walk = (name: string, trail: readonly string[]): string[] | undefined => {
    if (trail.includes(name)) return [...trail.slice(trail.indexOf(name)), name]
    if (done.has(name)) return undefined
    done.add(name)
    for (const next of graph.get(name) ?? []) {
      const cycle = walk(next, [...trail, name])
      if (cycle !== undefined) return cycle
    }
    return undefined
  }
  for (const name of graph.keys()) {
    const cycle = walk(name, [])
    if (cycle !== undefined) return cycle
  }
  return undefined
}
