/** `id` is the identity. The attributes may change, and are '' if the upstream sent none. */
export interface Place {
  readonly id: string
  readonly iata: string
  readonly city: string
  readonly country: string
}

export interface Route {
  readonly departure: Place
  readonly destination: Place
}

/** Counts of the anomalies of a list that do not reject it, by their names in the metrics. */
export const NO_COUNTS = {
  /** Fields of routes and places that the interface does not name. They are dropped. */
  unknown_fields: 0,
  /** Place ids that were sent as numbers. */
  numeric_ids: 0,
  /** Attributes that are missing, null or not text. They are read as ''. */
  blank_texts: 0,
  /** Attributes with NUL, a lone surrogate or more than 200 characters. They are cleaned and cut. */
  cleaned_texts: 0,
  /** Departure and destination are the same place. */
  self_routes: 0,
}

export type RouteListCounts = Readonly<typeof NO_COUNTS>

/** What an answer offers for a later conditional request. Null if it offers none, or none that we would send. */
export interface Validators {
  /** An entity tag exactly as received, with its quotes and `W/`. */
  readonly etag: string | null
  /** A date exactly as received. */
  readonly lastModified: string | null
}

/** A downloaded list that has not been read yet. */
export interface RouteListBody {
  /** The decoded bytes, in order. `readRouteList` reads them without joining them. */
  readonly chunks: readonly Uint8Array[]
  readonly bytes: number
  /** SHA-256 of the decoded bytes, in hex. Two lists with the same hash are the same list. */
  readonly contentHash: string
  readonly downloadMs: number
  readonly validators: Validators
  /** Called with the anomalies after the list has been read, and with the error if reading failed. */
  readonly onRead?: ((counts: RouteListCounts, failure?: unknown) => void) | undefined
}
