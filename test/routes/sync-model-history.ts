import type { Place } from '../../src/upstream/route-list.ts'

/** An interval between two runs; `to` is null while it lasts. */
export interface Interval<T> {
  readonly of: string
  readonly what: T
  readonly from: number
  to: number | null
}

type Attributes = Omit<Place, 'id'>

export interface ModelChange {
  readonly kind: string
  readonly of: string
  readonly before: unknown
  readonly after: unknown
  readonly lastSeen: number
  readonly firstMissed: number
  readonly run: number
}

/** A place of a list: its attributes before and after the list, as text. */
export interface PlaceEdit {
  readonly id: string
  readonly old: string | null
  readonly now: string
}

/** Intervals and changes. An instant is named by the run that it belongs to. */
export class ModelHistory {
  readonly routes: Interval<null>[] = []
  readonly availability: Interval<boolean>[] = []
  readonly places: Interval<Attributes>[] = []
  readonly changes: ModelChange[] = []

  live(): string[] {
    return this.routes.filter(({ to }) => to === null).map(({ of }) => of)
  }

  /** Null if no accepted list covers the route. */
  availableOf(pair: string): boolean | null {
    return this.availability.find(({ of, to }) => of === pair && to === null)?.what ?? null
  }

  /** The attributes that a list gives each place: the known ones if they are among them, else the smallest. */
  attributesIn(spellings: readonly Place[]): PlaceEdit[] {
    return [...new Set(spellings.map(({ id }) => id))].map((id) => {
      const texts = spellings.filter((place) => place.id === id).map(textOf)
      const known = this.places.find(({ of, to }) => of === id && to === null)
      const old = known === undefined ? null : textOf(known.what)
      const [smallest = ''] = texts.toSorted((a, b) => (a < b ? -1 : 1))
      return { id, old, now: old !== null && texts.includes(old) ? old : smallest }
    })
  }

  addRoute(of: string, run: number): void {
    this.routes.push({ of, what: null, from: run, to: null })
  }

  /** The availability of a route ends with the route. */
  removeRoute(of: string, run: number): void {
    end(this.routes, of, run)
    end(this.availability, of, run)
  }

  setAvailable(of: string, available: boolean, run: number): void {
    end(this.availability, of, run)
    this.availability.push({ of, what: available, from: run, to: null })
  }

  setAttributes(of: string, text: string, run: number): void {
    end(this.places, of, run)
    this.places.push({ of, what: attributesOf(text), from: run, to: null })
  }
}

function end(intervals: Interval<unknown>[], of: string, run: number): void {
  for (const interval of intervals) if (interval.of === of) interval.to ??= run
}

export function textOf({ iata, city, country }: Attributes): string {
  return JSON.stringify([iata, city, country])
}

export function attributesOf(text: string): Attributes {
  const [iata = '', city = '', country = ''] = JSON.parse(text) as string[]
  return { iata, city, country }
}
