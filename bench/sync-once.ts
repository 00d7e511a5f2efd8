/** Runs one sync of the routes list in its own process, and sends its peak memory to the parent process. */
import { openDatabase } from '../src/platform/db/database.ts'
import { FARES_PROVIDER } from '../src/upstream/fares/fares-provider.ts'
import { createUpstreamClient } from '../src/upstream/upstream-client.ts'
import { log, syncOnce } from './sync-ours.ts'

const [, , databaseUrl = '', baseUrl = ''] = process.argv
const before = process.memoryUsage.rss()
const database = openDatabase({ url: databaseUrl, applicationName: 'bench', log })
const upstream = createUpstreamClient({
  provider: FARES_PROVIDER,
  baseUrl,
  scrub: (text) => text,
  log,
})
const outcome = await syncOnce(database.db, upstream)
await upstream.close()
await database.close()
const grownBytes = process.resourceUsage().maxRSS * 1_024 - before
process.send?.({ ...outcome, grownBytes }, undefined, undefined, () => process.disconnect())
