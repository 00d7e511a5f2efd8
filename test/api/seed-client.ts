/**
 * A small client of the fare interface, written from its description only. It uses nothing of the sandbox or of our API
 * that the description does not specify.
 */

export interface PlaceOfRoute {
  readonly id: string
  readonly iata: string
  readonly city: string
  readonly country: string
}

export interface RouteOfList {
  readonly departure: PlaceOfRoute
  readonly destination: PlaceOfRoute
}

export interface VerifiedFlight {
  readonly available: boolean
  /** The flight's data. Missing if it is unavailable. */
  readonly flight?: unknown
}

export interface Passengers {
  readonly adults: number | string
  readonly children?: number | string
  readonly infants?: number | string
}

export interface VerifyRequest {
  readonly flightId: string
  readonly returnFlightId?: string
  readonly residents: Passengers
  readonly nonResidents: Passengers
}

/** The service refused. The description shows neither the status nor the body of a refusal. */
export class ServiceError extends Error {}

export class SeedClient {
  readonly #baseUrl: string
  readonly #accessToken: string

  constructor(baseUrl: string, accessToken: string) {
    this.#baseUrl = baseUrl
    this.#accessToken = accessToken
  }

  routes(): Promise<RouteOfList[]> {
    return this.#getJson('/api/v1/data/routes')
  }

  routesWithAvailability(): Promise<RouteOfList[]> {
    return this.#getJson('/api/v1/data/routes/with-availability')
  }

  async routesCsv(): Promise<string> {
    return (await this.#get('/api/v1/data/routes/csv')).text()
  }

  verify(request: VerifyRequest): Promise<Record<string, VerifiedFlight>> {
    const { flightId, returnFlightId, ...groups } = request
    const query = new URLSearchParams({ flightId })
    if (returnFlightId !== undefined) query.set('returnFlightId', returnFlightId)
    for (const [group, counts] of Object.entries(groups)) {
      for (const [type, count] of Object.entries(counts)) {
        query.set(`${group}[${type}]`, String(count))
      }
    }
    return this.#getJson('/api/v1/flights/fares/verify', query)
  }

  async #getJson<T>(path: string, query?: URLSearchParams): Promise<T> {
    return (await (await this.#get(path, query)).json()) as T
  }

  async #get(path: string, query = new URLSearchParams()): Promise<Response> {
    query.set('accessToken', this.#accessToken)
    const response = await fetch(`${this.#baseUrl}${path}?${query.toString()}`)
    if (!response.ok) throw new ServiceError(`the service answered ${response.status}`)
    return response
  }
}
