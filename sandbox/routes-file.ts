import { readFile } from 'node:fs/promises'
import { AppError, messageOf } from '../src/platform/base/errors.ts'
import { cleanText } from '../src/platform/base/text.ts'
import { type RouteLists, toCsv } from './operations/route-list-operations.ts'
import { isRecord } from './verify-fares.ts'
import { draw, mix, mixText } from './world/random.ts'
import type { Route } from './world/wire.ts'

const AVAILABLE_SHARE = 0.85
const FILE_AVAILABILITY = 95
const PLACE_FIELDS = ['id', 'iata', 'city', 'country']
const EXAMPLE =
  '[{"departure": {"id": "1", "iata": "PMI", "city": "…", "country": "…"}, "destination": {…}}, …]'

/** The routes file cannot be served. */
export class SandboxRoutesFileError extends AppError {
  override readonly name = 'SandboxRoutesFileError'
  override readonly code = 'sandbox.routes_file'
  readonly path: string

  constructor(path: string, reason: string, options?: ErrorOptions) {
    super(
      `routes file ${path}: ${reason}; --routes needs a JSON file of the form ${EXAMPLE}`,
      options,
    )
    this.path = path
  }
}

/**
 * The lists of a file, which are the same at every instant.
 *
 * Seed and route decide whether a route has availability, so a route in two files has it in both. A file may have
 * 160 MB: each list is serialized once, and the parsed routes are not kept.
 * Throws SandboxRoutesFileError.
 */
export async function fileRouteLists(path: string, seed: number): Promise<RouteLists> {
  const routes = await readRoutesFile(path)
  const available = routes.filter((route) => hasAvailability(seed, route))
  const counts = { routes: routes.length, withAvailability: available.length }
  const routesBody = Buffer.from(JSON.stringify(routes))
  const availableBody = Buffer.from(JSON.stringify(available))
  let csvBody: Buffer | undefined
  return {
    routes: () => routesBody,
    withAvailability: () => availableBody,
    csv: () => {
      csvBody ??= Buffer.from(toCsv(JSON.parse(routesBody.toString()) as Route[]))
      return csvBody
    },
    counts: () => counts,
  }
}

async function readRoutesFile(path: string): Promise<Route[]> {
  const text = await readFile(path, 'utf8').catch((err: unknown) => {
    throw new SandboxRoutesFileError(path, `cannot be read (${codeOrMessage(err)})`, { cause: err })
  })
  const parsed = parseJson(path, text)
  if (!Array.isArray(parsed)) throw new SandboxRoutesFileError(path, 'is JSON, but not an array')
  for (const [index, element] of parsed.entries()) {
    const reason = reasonOf(element)
    if (reason) throw new SandboxRoutesFileError(path, `element ${index} is not a route: ${reason}`)
  }
  return parsed as Route[]
}

/** Without the byte order mark that some editors write. */
export function withoutMark(text: string): string {
  return text.replace(/^\uFEFF/, '')
}

function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(withoutMark(text))
  } catch (err) {
    throw new SandboxRoutesFileError(path, `is not JSON (${cleanText(messageOf(err), 200)})`, {
      cause: err,
    })
  }
}

/** What is wrong with an element; undefined if nothing is. Empty texts are allowed, as an upstream may send them. */
function reasonOf(element: unknown): string | undefined {
  if (!isRecord(element)) return 'it is not an object'
  for (const side of ['departure', 'destination']) {
    const place = element[side]
    if (!isRecord(place)) return `${side} is not an object`
    const field = PLACE_FIELDS.find((name) => typeof place[name] !== 'string')
    if (field) return `${side}.${field} is not a string`
    if (place.id === '') return `${side}.id is empty`
  }
  return undefined
}

function hasAvailability(seed: number, { departure, destination }: Route): boolean {
  const word = mix(seed, FILE_AVAILABILITY)
  return draw(mixText(mixText(word, departure.id), destination.id), 0) < AVAILABLE_SHARE
}

function codeOrMessage(err: unknown): string {
  return (err as NodeJS.ErrnoException).code ?? messageOf(err)
}
