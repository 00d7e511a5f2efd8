import { cleanText } from '../../platform/base/text.ts'
import { NO_COUNTS, type Place, type Route, type RouteListCounts } from '../route-list.ts'
import { UpstreamContractError } from '../upstream-errors.ts'

const MAX_TEXT_CHARS = 200
/** More spellings of one place make no list of routes: it contradicts itself. */
const MAX_SPELLINGS = 16
/** Limits the memory for a list. A place counts once for each of its spellings. */
const MAX_PLACES = 100_000

type End = 'departure' | 'destination'
type Fields = Record<string, unknown>
type Counts = { -readonly [Name in keyof RouteListCounts]: RouteListCounts[Name] }

/**
 * Turns parsed elements into routes, and counts their anomalies.
 *
 * Identity is strict: an id that is missing, empty, or neither text nor a whole number rejects the list. Otherwise a
 * route with a wrong id would be recorded as a new route. Attributes are lenient, because they may change.
 */
export class RouteChecker {
  readonly #endpoint: string
  /** The spellings of each place by its id. Equal places share one object, which saves memory and repeated checks. */
  readonly #spellings = new Map<string, Place[]>()
  #places = 0
  #counts: Counts = { ...NO_COUNTS }
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
      if (name !== 'departure' && name !== 'destination') this.#counts.unknownFields += 1
    }
    const departure = this.#place(element.departure, 'departure')
    const destination = this.#place(element.destination, 'destination')
    if (!departure || !destination) return undefined
    if (departure.id === destination.id) this.#counts.selfRoutes += 1
    return { departure, destination }
  }

  #place(value: unknown, end: End): Place | undefined {
    if (value === undefined) throw this.#violation(`: ${end} is missing`)
    if (!isObject(value)) throw this.#violation(`: ${end} is not an object`)
    for (const name in value) {
      if (name !== 'id' && name !== 'iata' && name !== 'city' && name !== 'country') {
        this.#counts.unknownFields += 1
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
    this.#counts.numericIds += 1
    return String(value)
  }

  #text(value: unknown): string {
    if (typeof value !== 'string') {
      this.#counts.blankTexts += 1
      return ''
    }
    const clean = cleanText(value, MAX_TEXT_CHARS)
    if (clean !== value) this.#counts.cleanedTexts += 1
    return clean
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
