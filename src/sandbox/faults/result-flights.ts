import type { Flight, VerifyEntry, VerifyResult } from '../world/wire.ts'

/** Changes every flight of a result; undefined where there is none. */
export function inFlights(
  result: VerifyResult,
  change: (flight: Flight) => object,
): object | undefined {
  const entries = Object.entries(result)
  if (!entries.some(([, { available }]) => available)) return undefined
  const changed = (entry: VerifyEntry) =>
    entry.available ? { ...entry, flight: change(entry.flight) } : entry
  return Object.fromEntries(entries.map(([id, entry]) => [id, changed(entry)]))
}
