import { createHash } from 'node:crypto'
import type { RouteListName } from '../../platform/base/kinds.ts'
import type { Scrub } from '../../platform/base/secrets.ts'
import { readRouteList } from '../lists/read-route-list.ts'
import type { Route, RouteListCounts } from '../route-list.ts'
import { type AnomalyCounts, anomaliesOfList } from '../telemetry.ts'
import { quotable, SNIPPET_SOURCE_BYTES } from '../transport/body-snippet.ts'
import type { HttpAnswer } from '../transport/http-exchange.ts'
import type { ResponseHead } from '../transport/response-receiver.ts'
import { UpstreamContractError } from '../upstream-errors.ts'
import type { ProbedCall } from './probe-call.ts'

/** The lists of one probe, to compare them with each other. */
export interface ProbedLists {
  /** The pairs of the list `routes`. Null until it has been read. */
  pairs: Set<string> | null
}

/** Reads a list. Returns what it contains and how it differs from the list `routes`. */
export async function findInList(
  list: RouteListName,
  { chunks }: HttpAnswer,
  lists: ProbedLists,
): Promise<ProbedCall['found']> {
  const pairs = new Set<string>()
  const places = new Set<string>()
  let routeCount = 0
  let anomalies: AnomalyCounts = {}
  const onRead = (counts: RouteListCounts) => {
    anomalies = anomaliesOfList(counts)
  }
  for await (const { routes } of readRouteList({ chunks, onRead }, { endpoint: list })) {
    routeCount += routes.length
    for (const route of routes) {
      pairs.add(pairOf(route))
      places.add(route.departure.id).add(route.destination.id)
    }
  }
  const difference = list === 'routes' ? {} : differenceFromRoutes(pairs, lists)
  if (list === 'routes') lists.pairs = pairs
  return {
    shape: 'Route[]',
    routes: routeCount,
    'distinct pairs': pairs.size,
    places: places.size,
    ...difference,
    ...anomaliesFound(anomalies),
  }
}

/** A digest is shorter than two long ids, and a million pairs are held in memory at a time. */
function pairOf({ departure, destination }: Route): string {
  const key = JSON.stringify([departure.id, destination.id])
  return key.length <= 40 ? key : createHash('sha256').update(key).digest('base64')
}

function differenceFromRoutes(pairs: ReadonlySet<string>, lists: ProbedLists): ProbedCall['found'] {
  if (lists.pairs === null) return {}
  return {
    'pairs not among the routes': pairs.difference(lists.pairs).size,
    'routes not among the pairs': lists.pairs.difference(pairs).size,
  }
}

function anomaliesFound(counts: AnomalyCounts): ProbedCall['found'] {
  const found = Object.entries(counts).filter(([, count]) => count > 0)
  return found.length === 0 ? {} : { anomalies: found.map(([name, count]) => `${name} ${count}`) }
}

export const CSV_ACCEPT = 'text/csv, application/csv;q=0.9, text/plain;q=0.8'
const CSV_TYPE = /^(?:text\/csv|application\/csv|text\/plain)\s*(?:;|$)/i
const DELIMITERS = [',', ';', '\t'] as const

/** Whether the answer is a 200 of CSV, by any of the content types that servers use for it. */
export function isCsvAnswer({ status, headers }: ResponseHead): boolean {
  return status === 200 && CSV_TYPE.test(headers['content-type'] ?? '')
}

/**
 * Returns the columns that the header line names. The rows are not read.
 *
 * Throws UpstreamContractError if the body does not begin with a header line. Error pages are often sent as text.
 */
export function findInCsv({ chunks }: HttpAnswer, scrub: Scrub): ProbedCall['found'] {
  const beginning = Buffer.concat(chunks.slice(0, 1)).subarray(0, SNIPPET_SOURCE_BYTES)
  const text = beginning
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .trimStart()
  const [header = ''] = text.split(/[\r\n]/, 1)
  if (header === '' || /^[<{[]/.test(header)) {
    const where = 'the body does not begin with a header line'
    throw new UpstreamContractError({ endpoint: 'csv', status: 200, where })
  }
  const timesIn = (delimiter: string) => header.split(delimiter).length
  const delimiter = DELIMITERS.reduce((best, one) => (timesIn(one) > timesIn(best) ? one : best))
  const columns = header.split(delimiter).map((column) => column.trim().replace(/^"|"$/g, ''))
  return {
    columns: columns.map((column) => quotable(column, scrub, 60)),
    delimiter: delimiter === '\t' ? 'tab' : delimiter,
  }
}
