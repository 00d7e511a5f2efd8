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
export interface FlightPlace {
  readonly id: number
  readonly iata: string
  readonly city: string
  readonly country: string
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

export interface Leg {
  readonly from: FlightPlace
  readonly to: FlightPlace
  readonly number: number
  readonly dates: FlightDates
  readonly duration: FlightDuration
  readonly airline: Airline
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

export interface Flight {
  readonly from: FlightPlace
  readonly to: FlightPlace
  readonly legs: readonly Leg[]
  readonly dates: FlightDates
  readonly duration: FlightDuration
  readonly airline: Airline
  readonly site: Site
  readonly id: number
  readonly price: Price
}

export type VerifyEntry =
  | { readonly available: false }
  | { readonly available: true; readonly flight: Flight }

/** Keyed by the requested flight ids. */
export type VerifyResult = Readonly<Record<string, VerifyEntry>>
