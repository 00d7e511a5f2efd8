import { setImmediate as eventLoop } from 'node:timers/promises'
import {
  addCounts,
  NO_COUNTS,
  type Route,
  type RouteListBody,
  type RouteListCounts,
} from '../route-list.ts'
import { UpstreamContractError } from '../upstream-errors.ts'
import { parseKeepingDigits, RouteChecker } from './check-route.ts'
import { type ArrayCut, type CutLimits, cutArray } from './cut-array.ts'

export interface RouteSlice {
  readonly routes: Route[]
  /** Position of the first of them in the list. */
  readonly first: number
  /** Bytes of the body that have been read, this slice included. */
  readonly bytesRead: number
  /** Of this slice alone; `addCounts` adds them up. */
  readonly counts: RouteListCounts
}

/**
 * Measured on 174 MB, a million routes: slices of 250 KB read at 139 MB/s with 6 ms as the longest block of the
 * event loop, slices of 1 MB at 108 and 42, for what a large slice makes outlives the young generation.
 */
export const READ_LIMITS: CutLimits = {
  endpoint: 'route list',
  sliceBytes: 250_000,
  maxElements: 1_500_000,
  maxElementBytes: 65_536,
  maxDepth: 32,
}

/**
 * Reads a route list slice by slice, in order, giving way to the event loop between slices.
 *
 * The list is only known to be good when the last slice has come: what was done with the ones before must be
 * undone when the reading throws. Never joins the body; needs about five times a slice beside it.
 *
 * Throws UpstreamContractError for anything but one JSON array of routes, UpstreamTooLargeError over a cap; their
 * messages hold no text of the body.
 */
export async function* readRouteList(
  body: Pick<RouteListBody, 'chunks' | 'onRead'>,
  limits: Partial<CutLimits> = {},
): AsyncGenerator<RouteSlice, void> {
  const { endpoint, ...caps } = { ...READ_LIMITS, ...limits }
  const checker = new RouteChecker(endpoint)
  let counts = NO_COUNTS
  try {
    for (const cut of cutArray(body.chunks, { endpoint, ...caps })) {
      const slice = readCut(cut, { endpoint, checker })
      counts = addCounts(counts, slice.counts)
      if (slice.routes.length > 0) yield slice
      await eventLoop()
    }
  } catch (err) {
    body.onRead?.(counts, err)
    throw err
  }
  body.onRead?.(counts)
}

interface ReadContext {
  readonly endpoint: string
  readonly checker: RouteChecker
}

function readCut(cut: ArrayCut, { endpoint, checker }: ReadContext): RouteSlice {
  const fail = (what: string) => {
    const last = cut.first + cut.elements - 1
    const where = `elements ${cut.first} to ${last} (bytes ${cut.fromByte} to ${cut.toByte}) ${what}`
    return new UpstreamContractError({ endpoint, where })
  }
  const json = `[${decode(cut.parts, fail)}]`
  const plain = parse(JSON.parse, json, fail)
  const emptyList = cut.first === 0 && cut.elements === 1 && plain.length === 0
  // A comma too many ends a cut without an element.
  if (plain.length !== cut.elements && !emptyList) throw fail('are not JSON')
  const checked =
    checker.check(plain, cut.first) ??
    checker.check(parse(parseKeepingDigits, json, fail), cut.first)
  if (!checked) throw fail('hold a number without its digits')
  return { ...checked, first: cut.first, bytesRead: cut.toByte + 1 }
}

type Fail = (what: string) => UpstreamContractError

function decode(parts: readonly Uint8Array[], fail: Fail): string {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  try {
    const text = parts.map((part) => decoder.decode(part, { stream: true })).join('')
    return text + decoder.decode()
  } catch {
    throw fail('are not UTF-8')
  }
}

/** The parser's own message quotes the body, so it is dropped. */
function parse(parser: (json: string) => unknown, json: string, fail: Fail): unknown[] {
  try {
    return parser(json) as unknown[]
  } catch {
    throw fail('are not JSON')
  }
}
