/** The shapes of the fare interface, as the sandbox reads it. Nothing is shared with the client. */

export interface RoutePlace {
  readonly id: string
  readonly iata: string
  readonly city: string
  readonly country: string
}

export interface Route {
  readonly departure: RoutePlace
  readonly destination: RoutePlace
}

/** As RoutePlace, but with an integer as id. */
export interface FlightPlace extends Omit<RoutePlace, 'id'> {
  readonly id: number
}

/** Local times, `YYYY-MM-DD HH:MM`. */
export interface FlightDates {
  readonly departure: string
  readonly arrival: string
}

export interface FlightDuration {
  readonly human: string
  readonly seconds: number
}

export interface Airline {
  readonly id: number
  readonly name: string
  readonly twoLetterCode: string
}

export interface Site {
  readonly id: number
  readonly name: string
  readonly url: string
  readonly logo: string
}

interface Trip {
  readonly from: FlightPlace
  readonly to: FlightPlace
  readonly dates: FlightDates
  readonly duration: FlightDuration
  readonly airline: Airline
}

export interface Leg extends Trip {
  readonly number: number
}

/** Null for a type without passengers. */
export interface PassengerPrices {
  readonly adult: number | null
  readonly child: number | null
  readonly infant: number | null
}

export interface Price {
  readonly currency: string
  /** Two decimals. */
  readonly total: string
  readonly residents: PassengerPrices
  readonly nonResidents: PassengerPrices
}

export interface Flight extends Trip {
  readonly legs: readonly Leg[]
  readonly site: Site
  readonly id: number
  readonly price: Price
}

export type VerifyEntry =
  | { readonly available: false }
  | { readonly available: true; readonly flight: Flight }

/** Keyed by the requested flight ids. */
export type VerifyResult = Readonly<Record<string, VerifyEntry>>
