import type { Validators } from './lists/validators.ts'

/** The upstream's two route lists. */
export const ROUTE_LISTS = ['routes', 'with-availability'] as const
export type RouteListName = (typeof ROUTE_LISTS)[number]

/** `id` is the identity; the attributes may change, and are '' where the upstream sent none. */
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

/** What was odd in a list without being wrong enough to reject it. */
export interface RouteListCounts {
  /** Departure and destination are the same place. */
  readonly selfRoutes: number
  /** Fields that the interface does not name, in routes and places; they are dropped. */
  readonly unknownFields: number
  /** Place ids sent as numbers. */
  readonly numericIds: number
  /** Attributes that are missing, null or no text; they are read as ''. */
  readonly blankTexts: number
  /** Attributes with NUL, a lone surrogate or more than 200 characters; they are cleaned and cut. */
  readonly cleanedTexts: number
}

export const NO_COUNTS: RouteListCounts = {
  selfRoutes: 0,
  unknownFields: 0,
  numericIds: 0,
  blankTexts: 0,
  cleanedTexts: 0,
}

/** Adds up the counts of two slices. */
export function addCounts(a: RouteListCounts, b: RouteListCounts): RouteListCounts {
  return {
    selfRoutes: a.selfRoutes + b.selfRoutes,
    unknownFields: a.unknownFields + b.unknownFields,
    numericIds: a.numericIds + b.numericIds,
    blankTexts: a.blankTexts + b.blankTexts,
    cleanedTexts: a.cleanedTexts + b.cleanedTexts,
  }
}

/** A downloaded list, or the CSV of it, not yet read. */
export interface RouteListBody {
  /** The decoded bytes, in order; `readRouteList` or `readRoutesCsv` reads them without joining them. */
  readonly chunks: readonly Uint8Array[]
  readonly bytes: number
  /** SHA-256 of the decoded bytes, in hex: two lists with one hash are the same list. */
  readonly contentHash: string
  readonly downloadMs: number
  /** As the upstream sent them, to ask by whether the list has changed. */
  readonly validators: Validators
  /** Told what was odd once the list has been read, and what ended the reading where it ended early. */
  readonly onRead?: ((counts: RouteListCounts, failure?: unknown) => void) | undefined
}
