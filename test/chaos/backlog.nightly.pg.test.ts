import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createPostgresBackend, Queue } from 'bullmq'
import { describe, expect, it, onTestFinished } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { QUEUE_SCHEMA } from '../../src/platform/queue/queue-connection.ts'
import { VERIFY_QUEUE } from '../../src/schedule/claim.ts'
import { giveTurns } from '../fares/fare-fixtures.ts'
import type { RunningCommand } from '../support/child-process.ts'
import { addressesOf } from '../support/child-process.ts'
import { eventually } from './eventually.ts'

import { BACKENDS, openWorld, type World } from './world.ts'

const BACKLOG = 100_000
const CHUNK = 5_000
const WATCHED_MS = 12_000
const EVERY_MS = 250
/** Enough heap for a working worker, too little for 100,000 jobs or fares: a worker that loads them all crashes. */
const HEAP_MB = 128
/** How much the resident memory of the process may grow after the first sample. */
const MOST_GROWTH_MB = 160

const run = promisify(execFile)

async function residentMb({ child }: RunningCommand): Promise<number> {
  const { stdout } = await run('ps', ['-o', 'rss=', '-p', String(child.pid)])
  return Number(stdout) / 1024
}

/** Inserts BACKLOG fares that are all due at once. */
async function trackMany({ db }: World): Promise<void> {
  const { rows } = await sql<{ id: number }>`
    with fare as (
      insert into tracked_fare (flight_id, residents_adults, residents_children, residents_infants,
                                non_residents_adults, non_residents_children, non_residents_infants, watchers)
      select 'F' || n, 0, 0, 0, 1, 0, 0, 1 from generate_series(1, ${BACKLOG}::int) n
      returning id
    )
    insert into fare_schedule (tracked_fare_id) select id from fare returning tracked_fare_id as id
  `.execute(db)
  await giveTurns(
    db,
    rows.map(({ id }) => id),
  )
  await sql`analyze tracked_fare, fare_schedule, turn`.execute(db)
}

/** Enqueues BACKLOG jobs whose claims have expired, as after a long outage of the workers. */
async function enqueueMany(world: World): Promise<void> {
  const options = { connection: connectionOf(world), prefix: '{farewatch}' }
  const queue =
    world.redis === undefined
      ? new Queue(VERIFY_QUEUE, options, (name, opts, roles) =>
          createPostgresBackend(name, { ...opts, connection: options.connection }, roles),
        )
      : new Queue(VERIFY_QUEUE, options)
  const opts = { attempts: 1, removeOnComplete: { count: 1_000 } }
  for (let from = 0; from < BACKLOG; from += CHUNK) {
    await queue.addBulk(
      Array.from({ length: CHUNK }, () => ({
        name: VERIFY_QUEUE,
        data: { claimId: randomUUID(), fareIds: [] },
        opts,
      })),
    )
  }
  await queue.close()
}

function connectionOf({ redis, databaseUrl }: World) {
  return redis === undefined
    ? { connectionString: databaseUrl, schema: QUEUE_SCHEMA, max: 2 }
    : { url: redis.url }
}

const most = (numbers: readonly number[]) => Math.max(...numbers)

describe('a backlog of 100,000 fares and as many jobs', () => {
  it.for(BACKENDS)(
    // Fault: There is a backlog of 100,000 fares and as many jobs. The memory of the worker stays flat.
    'does not make the memory of the worker grow, with the queue on %s',
    { timeout: 120_000 },
    async (backend) => {
      const world = await openWorld(backend)
      onTestFinished(() => world.close())
      await Promise.all([trackMany(world), enqueueMany(world)])
      const waiting = async () => (await world.queue.counts(VERIFY_QUEUE)).waiting
      expect(await waiting()).toBe(BACKLOG)

      const worker = world.start('worker', {
        UPSTREAM_REQUESTS_PER_SECOND: '100',
        NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
      })
      await addressesOf(worker)
      await eventually('finished jobs', async () => (await waiting()) < BACKLOG - 500)
      const samples: number[] = []
      for (let i = 0; i < WATCHED_MS / EVERY_MS; i += 1) {
        samples.push(await residentMb(worker))
        await delay(EVERY_MS)
      }
      process.stdout.write(
        `backlog on ${backend}: ${samples.map(Math.round).join(' ')} MB, ${await waiting()} jobs left\n`,
      )

      expect(most(samples)).toBeLessThan((samples[0] ?? 0) + MOST_GROWTH_MB)
      expect(world.running()).toHaveLength(1)
    },
  )
})
