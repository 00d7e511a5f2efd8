import { cleanText } from '../base/text.ts'

/**
 * What a verify result says of each id that was asked, by the interface alone: `true` beside a flight, `false`
 * without one. Of anything else nobody can tell what it means, so it is left out.
 */
export function whatIsSaid(ids: readonly string[], result: unknown): Record<string, boolean> {
  const said = ids.flatMap((id) => {
    const entry = isRecord(result) && Object.hasOwn(result, id) ? result[id] : undefined
    const available = isRecord(entry) ? meaningOf(entry) : undefined
    return available === undefined ? [] : [{ id: shortId(id), available }]
  })
  return Object.fromEntries(said.map(({ id, available }) => [id, available]))
}

function meaningOf({ available, flight }: Readonly<Record<string, unknown>>): boolean | undefined {
  if (available === true) return isRecord(flight) || undefined
  const alone = flight === undefined || flight === null
  return available === false && alone ? false : undefined
}

/** As the log keeps it: a query may hold 16 KB, and the log holds many. */
export function shortId(id: string): string {
  return cleanText(id, 100)
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
