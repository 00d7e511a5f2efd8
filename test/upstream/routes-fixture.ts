import { type RouteSlice, readRouteList } from '../../src/upstream/lists/read-route-list.ts'
import type { Place, Route } from '../../src/upstream/route-list.ts'

export function place(id: string, attributes: Partial<Place> = {}): Place {
  return { id, iata: 'PMI', city: 'Palma', country: 'Spain', ...attributes }
}

export function route(departureId: string, destinationId: string): Route {
  return { departure: place(departureId), destination: place(destinationId) }
}

export const ROUTES: readonly Route[] = [route('1', '2'), route('2', '1'), route('2', '3')]

/** One element as the upstream would send it, with one place replaced. */
export function elementWith(departure: unknown): string {
  return JSON.stringify({ departure, destination: place('2') })
}

type ReadOptions = Parameters<typeof readRouteList>[1]

/** Reads a body to its end. A text counts as one chunk. */
export async function readAll(body: string | readonly Uint8Array[], options?: ReadOptions) {
  const chunks = typeof body === 'string' ? [Buffer.from(body)] : body
  const slices: RouteSlice[] = []
  for await (const slice of readRouteList({ chunks }, options)) slices.push(slice)
  return { slices, routes: slices.flatMap((slice) => slice.routes) }
}

/** Splits the bytes at the given positions, which may be unordered and out of range. */
export function chunksOf(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const inside = cuts.map((cut) => cut % (bytes.length + 1))
  const ends = [...inside, bytes.length].sort((a, b) => a - b)
  return ends.map((end, at) => bytes.subarray(ends[at - 1] ?? 0, end))
}
