/**
 * What bench/api.ts compares with, in a process of its own: a bare Fastify that checks keys as the API does and answers
 * "hello" or the bytes of the list from memory, and the bare queries.
 */
import { fastify } from 'fastify'
import { readRouteChanges } from '../src/feeds/operator-feed-queries.ts'
import type { ResellerId } from '../src/platform/base/reseller-id.ts'
import { openDatabase } from '../src/platform/db/database.ts'
import { createKeyAccess } from '../src/resellers/check-keys.ts'
import { readWatchTimeline } from '../src/views/watch-history-operations.ts'
import { silentLog as log } from '../test/support/silent-log.ts'

/** A query that the parent wants measured. The answer is how often a second it could run. */
export interface BareQuery {
  readonly query: 'page' | 'timeline'
  readonly rows: number
  readonly calls: number
  readonly seconds: number
}

const [databaseUrl = '', listUrl = '', key = '', resellerId, watchId = ''] = process.argv.slice(2)
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

const page = { watchId, before: undefined, onlyBookable: false }
const queries: Record<BareQuery['query'], (limit: number) => Promise<readonly unknown[]>> = {
  page: async (limit) => (await readRouteChanges(db, { after: 0, through: limit, limit })).changes,
  timeline: (limit) => readWatchTimeline(db, Number(resellerId) as ResellerId, { ...page, limit }),
}
process.on('message', ({ query, rows, calls, seconds }: BareQuery) => {
  const end = performance.now() + seconds * 1_000
  let count = 0
  const loop = async () => {
    for (; performance.now() < end; count += 1) {
      const { length } = await queries[query](rows)
      if (length !== rows) throw new Error(`the bare query has ${length} rows`)
    }
  }
  const loops = Array.from({ length: calls }, loop)
  void Promise.all(loops).then(() => process.send?.(count / seconds))
})
process.once('disconnect', () => process.exit())
process.send?.(await server.listen({ host: '127.0.0.1', port: 0 }))
