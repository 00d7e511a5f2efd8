/**
 * Reads one large route list with the client and the reader (`ours`), or with undici and one JSON.parse (`parse`). It
 * runs in its own process to measure the peak of its memory, and sends the measurements to its parent.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { request } from 'undici'
import { createLogger } from '../src/platform/base/logger.ts'
import { FARES_PROVIDER } from '../src/upstream/fares/fares-provider.ts'
import { readRouteList } from '../src/upstream/lists/read-route-list.ts'
import { createUpstreamClient } from '../src/upstream/upstream-client.ts'
import { fetchList } from '../test/support/fetch-list.ts'

export interface ListReading {
  readonly routes: number
  readonly bytes: number
  readonly ms: number
  /** The part of the time that the download took. */
  readonly downloadMs: number
  /** The growth of the process from before the call to its peak. */
  readonly grownBytes: number
  readonly longestBlockMs: number
}

const [, , how, url = ''] = process.argv
const log = createLogger({
  level: 'silent',
  scrub: (text) => text,
  destination: { write: () => undefined },
})

type Read = Pick<ListReading, 'routes' | 'bytes' | 'downloadMs'>

async function ours(): Promise<Read> {
  const client = createUpstreamClient({
    provider: FARES_PROVIDER,
    baseUrl: url,
    scrub: (text) => text,
    log,
  })
  const body = await fetchList(client, 'routes', { signal: new AbortController().signal })
  let routes = 0
  for await (const slice of readRouteList(body)) routes += slice.routes.length
  await client.close()
  return { routes, bytes: body.bytes, downloadMs: body.downloadMs }
}

async function parse(): Promise<Read> {
  const start = performance.now()
  const { body } = await request(`${url}/api/v1/data/routes`)
  const text = await body.text()
  const downloadMs = performance.now() - start
  const routes = JSON.parse(text) as unknown[]
  return { routes: routes.length, bytes: Buffer.byteLength(text), downloadMs }
}

const peakBytes = () => process.resourceUsage().maxRSS * 1_024
const before = process.memoryUsage.rss()
const delays = monitorEventLoopDelay({ resolution: 1 })
delays.enable()
const start = performance.now()
const read = await (how === 'ours' ? ours() : parse())
const ms = performance.now() - start
// A block of the event loop that lasts until the end is measured only after the loop runs again.
await new Promise((resolve) => setTimeout(resolve, 5))
delays.disable()
const reading: ListReading = {
  ...read,
  ms,
  grownBytes: peakBytes() - before,
  longestBlockMs: delays.max / 1e6,
}
process.send?.(reading, undefined, undefined, () => process.disconnect())
