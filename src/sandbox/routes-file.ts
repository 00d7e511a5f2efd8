import { readFile } from 'node:fs/promises'
import { AppError, messageOf } from '../base/errors.ts'
import { cleanText } from '../base/text.ts'
import { type RouteLists, toCsv } from './endpoints/route-list-endpoints.ts'
import { draw, mix, mixText } from './world/random.ts'
import type { Route } from './world/wire.ts'

const AVAILABLE_SHARE = 0.85
const FILE_AVAILABILITY = 95
const PLACE_FIELDS = ['id', 'iata', 'city', 'country']
const EXAMPLE =
  '[{"departure": {"id": "1", "iata": "PMI", "city": "…", "country": "…"}, "destination": {…}}, …]'

/** The file given to be served as the route list cannot be served. */
export class SandboxRoutesFileError extends AppError {
  override readonly name = 'SandboxRoutesFileError'
  override readonly code = 'sandbox.routes_file'
  override readonly retryable = false
  readonly path: string

  constructor(path: string, reason: string, options?: ErrorOptions) {
    super(
      `routes file ${path}: ${reason}; give --routes a JSON file of the form ${EXAMPLE}`,
      options,
    )
    this.path = path
  }
}

/**
 * Serves a file's routes in place of the world's: the same lists at every instant.
 *
 * The routes that have availability are drawn by seed and route, so they stay the same where two files share
 * a route. A file may hold 160 MB: each list is serialized once, and the parsed routes are let go.
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
    throw new SandboxRoutesFileError(path, `cannot be read (${reasonOf(err)})`, { cause: err })
  })
  const parsed = parseJson(path, text)
  if (!Array.isArray(parsed)) throw new SandboxRoutesFileError(path, 'is JSON, but no array')
  for (const [index, element] of parsed.entries()) {
    const fault = faultOf(element)
    if (fault) throw new SandboxRoutesFileError(path, `element ${index} is no route: ${fault}`)
  }
  return parsed as Route[]
}

/** Some editors put a byte order mark before the text. */
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

/** What is wrong with an element, or undefined. Empty texts are routes that an upstream may well send. */
function faultOf(element: unknown): string | undefined {
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return value instanceof Object && !Array.isArray(value)
}

function hasAvailability(seed: number, { departure, destination }: Route): boolean {
  const word = mix(seed, FILE_AVAILABILITY)
  return draw(mixText(mixText(word, departure.id), destination.id), 0) < AVAILABLE_SHARE
}

function reasonOf(err: unknown): string {
  const code = (err as NodeJS.ErrnoException).code
  return code ?? messageOf(err)
}
