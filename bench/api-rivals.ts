/**
 * What bench/api.ts compares with, in a process of its own: a bare Fastify that checks keys as the API does and answers
 * "hello" or the bytes of the list from memory, and the bare queries.
 */
import type { AddressInfo } from 'node:net'
import { fastify } from 'fastify'
import { readRouteChanges } from '../src/feeds/operator-feed-queries.ts'
import type { ResellerId } from '../src/platform/base/reseller-id.ts'
import { openDatabase } from '../src/platform/db/database.ts'
import { createKeyAccess } from '../src/resellers/check-keys.ts'
import { readWatchTimeline } from '../src/views/watch-history-operations.ts'
import { log } from './verify-fixture.ts'

/** A query that the parent wants measured. The answer is how often a second it could run. */
export interface BareQuery {
  readonly query: 'page' | 'timeline'
  readonly rows: number
  readonly calls: number
  readonly seconds: number
  readonly resellerId: number
  readonly watchId: string
}

const [databaseUrl = '', listUrl = '', key = ''] = process.argv.slice(2)
const { db } = openDatabase({ url: databaseUrl, applicationName: 'bench rivals', log })

const list = await fetch(listUrl, { headers: { authorization: `Bearer ${key}` } })
const bytes = Buffer.from(await list.arrayBuffer())
const access = createKeyAccess({ db, log, nowMs: () => performance.now() })
const server = fastify({ logger: false })
server.addHook('onRequest', async ({ headers }, reply) => {
  const caller = await access.callerOf((headers.authorization ?? '').replace('Bearer ', ''))
  if (typeof caller === 'string') return reply.code(401).send()
})
server.get('/hello', async () => ({ hello: 'world' }))
server.get('/bytes', (_request, reply) => reply.type('application/json').send(bytes))
await server.listen({ host: '127.0.0.1', port: 0 })

async function run({ query, rows, resellerId, watchId }: BareQuery): Promise<unknown[]> {
  if (query === 'page') {
    return (await readRouteChanges(db, { after: 0, through: rows, limit: rows })).changes
  }
  const page = { watchId, before: undefined, limit: rows, onlyBookable: false }
  return readWatchTimeline(db, resellerId as ResellerId, page)
}

process.on('message', (wanted: BareQuery) => {
  const end = performance.now() + wanted.seconds * 1_000
  let queries = 0
  const loop = async () => {
    while (performance.now() < end) {
      const { length } = await run(wanted)
      if (length !== wanted.rows) throw new Error(`the bare query has ${length} rows`)
      queries += 1
    }
  }
  const loops = Array.from({ length: wanted.calls }, loop)
  void Promise.all(loops).then(() => process.send?.(queries / wanted.seconds))
})
process.once('disconnect', () => process.exit())
process.send?.((server.server.address() as AddressInfo).port)
