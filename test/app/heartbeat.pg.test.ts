import http from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished } from 'vitest'
import type { App } from '../../src/app/app.ts'
import { heartbeatLoop } from '../../src/app/heartbeat.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { type Database, sql } from '../../src/platform/db/database.ts'
import type { QueueSystem } from '../../src/platform/queue/queue-system.ts'
import { listenLocally } from '../support/local-server.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'

/** A service that expects the heartbeat, and what it received. */
async function startService(status: number) {
  const received: string[] = []
  const server = http.createServer((request, response) => {
    void text(request).then((body) => {
      received.push(`${request.method} ${body}`)
      response.writeHead(status).end()
    })
  })
  const { url, close } = await listenLocally(server)
  onTestFinished(close)
  return { url, received }
}

/** A queue whose last tick has just ended. */
const QUEUE = {
  kind: 'postgres',
  counts: async () => ({ waiting: 0, active: 0, delayed: 0, failed: 0 }),
  schedulers: async () => [],
  jobs: async () => [{ name: 'prune', endedAt: new Date(), failure: null }],
} as unknown as QueueSystem

function loopOf(database: Database, url: string) {
  const config = { UPSTREAM_REQUESTS_PER_SECOND: 5, MASS_HOLD_MINUTES: 10 }
  const app = { config, database, clock: systemClock, log: silentLog } as unknown as App
  return heartbeatLoop(app, QUEUE, url)
}

async function startProcess({ db }: Database, role: string): Promise<void> {
  await sql`
    insert into process (id, role, version, host, pid) values (gen_random_uuid(), ${role}, '1.0.0', 'a', 7)
  `.execute(db)
}

const never = new AbortController().signal

describe('the heartbeat', () => {
  it('has what is wrong, and is silent while a part of the work stands still', async ({
    database,
  }) => {
    const { url, received } = await startService(200)
    const { run } = loopOf(database, url)

    await run(never)
    await startProcess(database, 'sync+check')
    await run(never)
    expect(received).toEqual([])
    await startProcess(database, 'deliver')
    await run(never)

    expect(received).toHaveLength(1)
    expect(received[0]).toMatch(
      /^POST warn list_never_accepted: No list routes has been accepted yet\.\n/,
    )
  })

  it('fails if its service refuses it, without the URL in the message', async ({ database }) => {
    const { url } = await startService(404)
    await startProcess(database, 'worker')

    const running = loopOf(database, `${url}/secret-path`).run(never)

    await expect(running).rejects.toThrow(/^the heartbeat was answered with 404$/)
  })
})
