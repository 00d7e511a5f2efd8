import type { ResponseHead } from '../transport/response-receiver.ts'

export const CSV_ENDPOINT = 'csv'
export const CSV_ACCEPT = 'text/csv, application/csv;q=0.9, text/plain;q=0.8'

/** A 200 of CSV, by whichever of the names that servers have for it. */
export function isCsvAnswer({ status, headers }: ResponseHead): boolean {
  const type = /^(?:text\/csv|application\/csv|text\/plain)\s*(?:;|$)/i
  return status === 200 && type.test(headers['content-type'] ?? '')
}

const BLANK = new Set([0x20, 0x09, 0x0a, 0x0d])
const STARTS: Readonly<Record<string, string>> = {
  '<': 'markup',
  '{': 'an object',
  '[': 'a JSON list',
}

/** What a body begins with when it cannot be CSV with a header; pages of errors often travel as plain text. */
export function faultOfCsvStart(bytes: Uint8Array): string | undefined {
  const mark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
  const first = bytes.subarray(mark).find((byte) => !BLANK.has(byte))
  const what = first === undefined ? undefined : STARTS[String.fromCharCode(first)]
  return what === undefined ? undefined : `the body begins with ${what}, not with a header row`
}

export const DELIMITERS = [',', ';', '\t'] as const
export type Delimiter = (typeof DELIMITERS)[number]

/** The delimiter that a header has most of outside its quotes; a comma where it has none. */
export function delimiterOf(header: string): Delimiter {
  const bare = header.replace(/"[^"]*"/g, '')
  const [firstLine = ''] = bare.trimStart().split(/[\r\n]/, 1)
  const timesIn = (delimiter: Delimiter) => firstLine.split(delimiter).length
  return DELIMITERS.reduce((best, one) => (timesIn(one) > timesIn(best) ? one : best))
}

const ENDS = ['departure', 'destination'] as const
const ATTRIBUTES = ['id', 'iata', 'city', 'country'] as const

/** An element as the JSON list would have it, for the check of both to be one. */
export type CsvElement = Record<(typeof ENDS)[number], Record<string, string | undefined>>

/**
 * How a row becomes a route, where the columns say so; the interface does not show them.
 *
 * A place's field is its end and its name in any spelling: `departure_id`, `departureId`, `departure.id`,
 * `DEPARTURE ID`. Both ids must be there, for an airport code is no identity; no field may be there twice.
 */
export function rowReaderOf(
  columns: readonly string[],
): { read: (row: readonly string[]) => CsvElement; unused: number } | null {
  const names = columns.map((column) => column.toLowerCase().replace(/[\s._-]/g, ''))
  const places = ENDS.flatMap((end) => ATTRIBUTES.map((name) => ({ end, name })))
  const fields = places
    .map((field) => ({ ...field, at: names.indexOf(`${field.end}${field.name}`) }))
    .filter(({ at }) => at >= 0)
  const hasIds = ENDS.every((end) =>
    fields.some((field) => field.end === end && field.name === 'id'),
  )
  const once = fields.every(({ at }) => names.lastIndexOf(names[at] ?? '') === at)
  if (!hasIds || !once) return null
  return {
    unused: columns.length - fields.length,
    read: (row) => {
      const element: CsvElement = { departure: {}, destination: {} }
      for (const { end, name, at } of fields) element[end][name] = row[at]
      return element
    },
  }
}
