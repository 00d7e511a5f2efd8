import { createHash } from 'node:crypto'
import type { Scrub } from '../../base/secrets.ts'
import { readRouteList } from '../lists/read-route-list.ts'
import { readRoutesCsv } from '../lists/read-routes-csv.ts'
import type { Route, RouteListCounts, RouteListName } from '../route-list.ts'
import { quotable } from '../transport/body-snippet.ts'
import type { ExchangeAnswer } from '../transport/http-exchange.ts'
import { type AnomalyCounts, anomaliesOfList } from '../upstream-metrics.ts'
import type { ProbedCall } from './probe-call.ts'

/** What the lists of one probe hold, to be told beside each other. */
export interface ProbedLists {
  /** Pairs of the routes; null until they have been read. */
  pairs: Set<string> | null
}

/** Reads a list, and tells what is in it and how it stands to the routes. */
export async function findInList(
  list: RouteListName,
  { chunks }: ExchangeAnswer,
  lists: ProbedLists,
): Promise<ProbedCall['found']> {
  const pairs = new Set<string>()
  const places = new Set<string>()
  const read = { routes: 0, odd: {} as AnomalyCounts }
  const onRead = (counts: RouteListCounts) => {
    read.odd = anomaliesOfList(counts)
  }
  for await (const { routes } of readRouteList({ chunks, onRead }, { endpoint: list })) {
    read.routes += routes.length
    for (const route of routes) {
      pairs.add(pairOf(route))
      places.add(route.departure.id).add(route.destination.id)
    }
  }
  const beside = list === 'routes' ? {} : besideRoutes(pairs, lists)
  if (list === 'routes') lists.pairs = pairs
  return {
    shape: 'Route[]',
    routes: read.routes,
    'distinct pairs': pairs.size,
    places: places.size,
    ...beside,
    ...oddOnes(read.odd),
  }
}

/** The same of the CSV; of columns that nobody knows only their names and the number of rows. */
export async function findInCsv(
  { chunks }: ExchangeAnswer,
  lists: ProbedLists,
  scrub: Scrub,
): Promise<ProbedCall['found']> {
  const pairs = new Set<string>()
  const read = {
    rows: 0,
    known: null as boolean | null,
    columns: [] as string[],
    delimiter: '',
    odd: {} as AnomalyCounts,
  }
  const onRead = (counts: RouteListCounts) => {
    read.odd = anomaliesOfList(counts)
  }
  for await (const slice of readRoutesCsv({ chunks, onRead })) {
    read.rows += slice.rows
    read.known = slice.routes !== null
    read.columns = slice.columns.map((column) => quotable(column, scrub, 60))
    read.delimiter = slice.delimiter === '\t' ? 'tab' : slice.delimiter
    for (const route of slice.routes ?? []) pairs.add(pairOf(route))
  }
  return {
    columns: read.columns,
    delimiter: read.delimiter,
    rows: read.rows,
    'columns name both ids': read.known === true,
    ...(read.known === true ? { 'distinct pairs': pairs.size, ...besideRoutes(pairs, lists) } : {}),
    ...oddOnes(read.odd),
  }
}

/** A digest is shorter than two long ids, and a million of them are kept at a time. */
function pairOf({ departure, destination }: Route): string {
  const key = JSON.stringify([departure.id, destination.id])
  return key.length <= 40 ? key : createHash('sha256').update(key).digest('base64')
}

function besideRoutes(pairs: ReadonlySet<string>, lists: ProbedLists): ProbedCall['found'] {
  if (lists.pairs === null) return {}
  return {
    'pairs not among the routes': pairs.difference(lists.pairs).size,
    'routes not among the pairs': lists.pairs.difference(pairs).size,
  }
}

function oddOnes(counts: AnomalyCounts): ProbedCall['found'] {
  const odd = Object.entries(counts).filter(([, count]) => count > 0)
  return odd.length === 0 ? {} : { anomalies: odd.map(([name, count]) => `${name} ${count}`) }
}
