import type {
  Answers,
  AvailabilityChange,
  Belief,
  RecordRoute,
  RouteChange,
  RouteChangeState,
  WatchChange,
  WatchedRoute,
} from './api-types.ts'

/** A part of an address as the API's document writes it: braces for what a call fills in. */
type Segment<Text extends string> = Record<never, 1> extends Record<Text, 1> ? '{}' : Text

/** An address without its query, in parts. */
type Shape<Path extends string> = Path extends `${infer Before}?${string}`
  ? Shape<Before>
  : Path extends `${infer First}/${infer Rest}`
    ? `${Segment<First>}/${Shape<Rest>}`
    : Segment<Path>

type Named<Name> = Name extends keyof Answers ? Answers[Name] : unknown

/** What the API answers under a path below /api/v1, such as `/fares/${string}`; unknown, if it has no such operation. */
export type Answer<Method extends string, Path extends string> = Named<`${Method} ${Shape<Path>}`>

/** An item of the list under a path. */
export type Item<Path extends string> =
  Answer<'GET', Path> extends { readonly items: readonly (infer One)[] } ? One : never

type Names<U> = U extends unknown ? keyof U : never
type Value<U, Name> = U extends unknown ? (Name extends keyof U ? U[Name] : never) : never

/** One of several objects, whichever it is: it has what all of them have, and perhaps what some have. */
export type OneOf<U> = { readonly [Name in Extract<keyof U, string>]: U[Name] } & {
  readonly [Name in Exclude<Names<U>, keyof U>]?: Value<U, Name>
}

/** What was before or after a change, of a fare, a route or a place. */
export type Side = OneOf<Belief | RouteChangeState>

/** A record of any feed. */
export type Change = Omit<
  OneOf<WatchChange | AvailabilityChange | RouteChange>,
  'before' | 'after'
> & {
  readonly before?: Side | null
  readonly after?: Side | null
}

/** The route of a record, or of a watch, which knows the codes alone. */
export type AnyRoute = OneOf<RecordRoute | WatchedRoute>
