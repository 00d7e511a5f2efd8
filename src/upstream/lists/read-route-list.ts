import { setImmediate as eventLoop } from 'node:timers/promises'
import { cleanText } from '../../platform/base/text.ts'
import {
  NO_COUNTS,
  type Place,
  type Route,
  type RouteListBody,
  type RouteListCounts,
} from '../route-list.ts'
import { parseKeepingDigits } from '../strict-json.ts'
import { UpstreamContractError } from '../upstream-errors.ts'
import { type ArraySlice, type CutLimits, cutArray } from './cut-array.ts'

export interface RouteSlice {
  readonly routes: Route[]
  /** Position of the first route in the list. */
  readonly first: number
  /** Bytes of the body that have been read, including this slice. */
  readonly bytesRead: number
  /** Counts of this slice alone. */
  readonly counts: RouteListCounts
}

/**
 * Measured with a million routes (174 MB): slices of 250 KB are read at 139 MB/s, and block the event loop for at most
 * 6 ms. Slices of 1 MB are read at 108 MB/s and block for 42 ms, because their objects outlive the young generation.
 */
const READ_LIMITS: CutLimits = {
  endpoint: 'route list',
  sliceBytes: 250_000,
  maxElements: 1_500_000,
  maxElementBytes: 65_536,
  maxDepth: 32,
}

/**
 * Reads a route list slice by slice, in order, and yields to the event loop between slices.
 *
 * The list is known to be valid only after the last slice. If reading throws, the caller must undo its work on the
 * slices before. The body is never joined: reading needs about five times the size of a slice in addition.
 *
 * Throws UpstreamContractError unless the body is one JSON array of routes, and UpstreamTooLargeError over a cap. The
 * messages contain no text of the body.
 */
export async function* readRouteList(
  body: Pick<RouteListBody, 'chunks' | 'onRead'>,
  limits: Partial<CutLimits> = {},
): AsyncGenerator<RouteSlice, void> {
  const { endpoint, ...caps } = { ...READ_LIMITS, ...limits }
  const checker = new RouteChecker(endpoint)
  let counts: RouteListCounts = NO_COUNTS
  try {
    for (const cut of cutArray(body.chunks, { endpoint, ...caps })) {
      const slice = readSlice(cut, endpoint, checker)
      counts = addCounts(counts, slice.counts)
      if (slice.routes.length > 0) yield slice
      await eventLoop()
    }
  } catch (err) {
    body.onRead?.(counts, err)
    throw err
  }
  body.onRead?.(counts)
}

export function addCounts(a: RouteListCounts, b: RouteListCounts): RouteListCounts {
  const names = Object.keys(NO_COUNTS) as (keyof RouteListCounts)[]
  return Object.fromEntries(names.map((name) => [name, a[name] + b[name]])) as RouteListCounts
}

function readSlice(cut: ArraySlice, endpoint: string, checker: RouteChecker): RouteSlice {
  const fail = (what: string) => {
    const last = cut.first + cut.elements - 1
    const where = `elements ${cut.first} to ${last} (bytes ${cut.fromByte} to ${cut.toByte}) ${what}`
    return new UpstreamContractError({ endpoint, where })
  }
  const json = `[${decode(cut.parts, fail)}]`
  const plain = parse(JSON.parse, json, fail)
  const emptyList = cut.first === 0 && cut.elements === 1 && plain.length === 0
  // An extra comma ends a slice without an element.
  if (plain.length !== cut.elements && !emptyList) throw fail('are not JSON')
  const checked =
    checker.check(plain, cut.first) ??
    checker.check(parse(parseKeepingDigits, json, fail), cut.first)
  if (!checked) throw fail('contain a number whose digits are unknown')
  return { ...checked, first: cut.first, bytesRead: cut.toByte + 1 }
}

type Fail = (what: string) => UpstreamContractError

function decode(parts: readonly Uint8Array[], fail: Fail): string {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  try {
    const text = parts.map((part) => decoder.decode(part, { stream: true })).join('')
    return text + decoder.decode()
  } catch {
    throw fail('are not UTF-8')
  }
}

/** Drops the parser's own message, because it quotes the body. */
function parse(parser: (json: string) => unknown, json: string, fail: Fail): unknown[] {
  try {
    return parser(json) as unknown[]
  } catch {
    throw fail('are not JSON')
  }
}

const MAX_TEXT_CHARS = 200
/** More spellings of one place make no list of routes: it contradicts itself. */
const MAX_SPELLINGS = 16
/** Limits the memory for a list. A place counts once for each of its spellings. */
const MAX_PLACES = 100_000

type End = 'departure' | 'destination'
type Fields = Record<string, unknown>

/**
 * Turns parsed elements into routes, and counts their anomalies.
 *
 * Identity is strict: an id that is missing, empty, or neither text nor a whole number rejects the list. Otherwise a
 * route with a wrong id would be recorded as a new route. Attributes are lenient, because they may change.
 */
class RouteChecker {
  readonly #endpoint: string
  /** The spellings of each place by its id. Equal places share one object, which saves memory and repeated checks. */
  readonly #spellings = new Map<string, Place[]>()
  #places = 0
  #counts = { ...NO_COUNTS }
  #element = 0

  constructor(endpoint: string) {
    this.#endpoint = endpoint
  }

  /**
   * Checks consecutive elements. `first` is the position of the first element in the list.
   *
   * Returns undefined if an id lost digits in parsing. Then parse again with `parseKeepingDigits`.
   * Throws UpstreamContractError.
   */
  check(
    elements: readonly unknown[],
    first: number,
  ): { routes: Route[]; counts: RouteListCounts } | undefined {
    this.#counts = { ...NO_COUNTS }
    const routes: Route[] = []
    for (const [at, element] of elements.entries()) {
      this.#element = first + at
      const route = this.#route(element)
      if (!route) return undefined
      routes.push(route)
    }
    return { routes, counts: this.#counts }
  }

  #route(element: unknown): Route | undefined {
    if (!isObject(element)) throw this.#violation(' is not an object')
    for (const name in element) {
      if (name !== 'departure' && name !== 'destination') this.#counts.unknown_fields += 1
    }
    const departure = this.#place(element.departure, 'departure')
    const destination = this.#place(element.destination, 'destination')
    if (!departure || !destination) return undefined
    if (departure.id === destination.id) this.#counts.self_routes += 1
    return { departure, destination }
  }

  #place(value: unknown, end: End): Place | undefined {
    if (value === undefined) throw this.#violation(`: ${end} is missing`)
    if (!isObject(value)) throw this.#violation(`: ${end} is not an object`)
    for (const name in value) {
      if (name !== 'id' && name !== 'iata' && name !== 'city' && name !== 'country') {
        this.#counts.unknown_fields += 1
      }
    }
    const id = this.#id(value.id, end)
    if (id === undefined) return undefined
    const spellings = this.#spellings.get(id)
    if (spellings === undefined) this.#assertId(id, end)
    const first = spellings?.[0]
    return first && sameTexts(first, value) ? first : this.#spelling(id, value)
  }

  #assertId(id: string, end: End): void {
    if (id.trim() === '') throw this.#violation(`: ${end}.id is empty`)
    // Cleaning could make two different ids equal.
    if (cleanText(id, MAX_TEXT_CHARS) !== id) throw this.#violation(`: ${end}.id is not clean text`)
  }

  #spelling(id: string, value: Fields): Place {
    const place = {
      id,
      iata: this.#text(value.iata),
      city: this.#text(value.city),
      country: this.#text(value.country),
    }
    const spellings = this.#spellings.get(id) ?? []
    const known = spellings.find((spelling) => sameTexts(spelling, place))
    if (known !== undefined) return known
    if (spellings.length === MAX_SPELLINGS) {
      throw this.#violation(` gives a place its spelling number ${MAX_SPELLINGS + 1}`)
    }
    if (this.#places === MAX_PLACES) throw this.#violation(`: there are over ${MAX_PLACES} places`)
    this.#places += 1
    this.#spellings.set(id, [...spellings, place])
    return place
  }

  #id(value: unknown, end: End): string | undefined {
    if (typeof value === 'string') return value
    if (value === undefined) throw this.#violation(`: ${end}.id is missing`)
    const whole = typeof value === 'bigint' || (Number.isInteger(value) && (value as number) >= 0)
    if (!whole) throw this.#violation(`: ${end}.id is neither text nor a whole number`)
    if (typeof value === 'number' && !Number.isSafeInteger(value)) return undefined
    this.#counts.numeric_ids += 1
    return String(value)
  }

  /** One spelling of the texts that look alike, so that they neither differ within a list nor between two. */
  #text(value: unknown): string {
    if (typeof value !== 'string') {
      this.#counts.blank_texts += 1
      return ''
    }
    const clean = cleanText(value, MAX_TEXT_CHARS)
    if (clean !== value) this.#counts.cleaned_texts += 1
    return clean.normalize('NFC').trim()
  }

  #violation(what: string): UpstreamContractError {
    const where = `element ${this.#element}${what}`
    return new UpstreamContractError({ endpoint: this.#endpoint, where })
  }
}

function sameTexts(place: Place, value: Fields | Place): boolean {
  return place.iata === value.iata && place.city === value.city && place.country === value.country
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}
