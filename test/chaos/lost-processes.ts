import { sql } from '../../src/platform/db/database.ts'
import { gone, record } from '../fares/fare-fixtures.ts'
import { stopQuietly } from '../fares/worker-fixtures.ts'
import { livePairs, manyRoutes, routes } from '../routes/sync-fixtures.ts'
import { addressesOf } from '../support/child-process.ts'
import { eventually } from './eventually.ts'
import {
  blockTable,
  checksOf,
  faresOf,
  kill,
  makeListDue,
  metricsOf,
  runsOf,
  untilBlockedAt,
  watch,
} from './steps.ts'
import type { World } from './world.ts'

export const BEFORE = manyRoutes(40)
export const AFTER = [...BEFORE, ...routes('NEW-ONE')]

/** Measurements that the tests cannot repeat afterwards. */
export interface Outcome {
  /** From the kill until another process has recorded the answers. */
  readonly batchTakenMs: number
  readonly listTakenMs: number
  readonly afterSyncKill: { readonly live: number; readonly runs: readonly (string | null)[] }
  readonly committedBeforeKill: number
  /** The process then dropped an answer: the wait for it fails otherwise. */
  readonly stoppedMs: number
}

/** Kills three processes and stops a fourth, one after the other, and starts a fifth that takes over their work. */
export async function loseProcesses(world: World): Promise<Outcome> {
  const batchLostAt = await killDuringBatch(world)
  const { listLostAt, afterSyncKill } = await killDuringSync(world)
  const committedBeforeKill = await killAfterCommit(world)
  const { stopped, stoppedAt } = await stopDuringCheck(world)

  world.start('worker')
  const listTaken = eventually(
    'the list applied',
    async () => (await runsOf(world)).length === 3,
    100_000,
  )
  const batchTaken = eventually(
    'the batch taken over',
    async () => (await checksOf(world, ['101', '102', '103'])) >= 3,
    100_000,
  )
  const [listTakenMs, batchTakenMs] = await Promise.all([
    listTaken.then(() => performance.now() - listLostAt),
    batchTaken.then(() => performance.now() - batchLostAt),
  ])
  await eventually(
    'the losses confirmed',
    async () => (await checksOf(world, ['101'])) === 2,
    40_000,
  )
  await eventually(
    'the fare of the stopped process',
    async () => (await checksOf(world, ['401'])) === 2,
    100_000,
  )
  await eventually('two lock times', () => performance.now() - stoppedAt > 60_000, 100_000)
  stopped.child.kill('SIGCONT')
  const stoppedMs = performance.now() - stoppedAt
  // It may hold answers of the killed processes' fares too, whose leases end while it starts.
  await eventually('the late answer dropped', async () =>
    /checks_dropped_total\{reason="superseded"\} [1-9]/.test(await metricsOf(stopped)),
  )
  return { batchTakenMs, listTakenMs, afterSyncKill, committedBeforeKill, stoppedMs }
}

async function killDuringBatch(world: World): Promise<number> {
  const { upstream } = world
  const flights = ['101', '102', '103']
  upstream.sell(['102', '103', '301', '302'])
  upstream.hold(flights)
  await watch(world, flights)
  const worker = world.start('worker')
  await eventually('the baseline', async () => (await runsOf(world))[0] === 'applied')
  await eventually('all requests', () => flights.every((id) => upstream.requestsFor(id) > 0))
  await kill(world, worker)
  upstream.release()
  return performance.now()
}

async function killDuringSync(world: World) {
  world.upstream.serve(AFTER)
  const release = await blockTable(world, 'farewatch_private.place_version')
  await makeListDue(world)
  const worker = world.start('worker')
  await untilBlockedAt(world, 'place_version')
  await kill(world, worker, release)
  const listLostAt = performance.now()
  const live = (await livePairs(world.db)).length
  return { listLostAt, afterSyncKill: { live, runs: await runsOf(world) } }
}

/** Blocks the queue between the commit and the kill, so that the process cannot report its job as done. */
async function killAfterCommit(world: World): Promise<number> {
  const flights = ['301', '302']
  const release = await blockTable(world, 'farewatch_private.availability_change')
  await watch(world, flights)
  const worker = world.start('worker')
  await untilBlockedAt(world, 'availability_change')
  const releaseQueue = await blockQueue(world)
  await release()
  await eventually('the commit', async () => (await checksOf(world, flights)) === 2)
  await kill(world, worker, releaseQueue)
  return checksOf(world, flights)
}

async function blockQueue(world: World): Promise<() => Promise<void>> {
  if (world.redis === undefined) return blockTable(world, 'farewatch_queue.job')
  const { proxy } = world.redis
  proxy.stall()
  return async () => proxy.resume()
}

/** Stops a process that waits for an answer. When it continues, that answer contradicts a newer belief. */
async function stopDuringCheck(world: World) {
  const { upstream, db } = world
  await watch(world, ['401'])
  const { rows } = await sql<{ id: number }>`
    select id from tracked_fare where flight_id = '401'
  `.execute(db)
  const fareId = rows[0]?.id ?? 0
  await sql`
    update watch set began_at = began_at - interval '2 minutes' where tracked_fare_id = ${fareId}
  `.execute(db)
  await record(db, fareId, new Date(Date.now() - 60_000), gone)
  await sql`update fare_schedule set not_before = clock_timestamp(), lane_due_at = clock_timestamp()
             where tracked_fare_id = ${rows[0]?.id} and lane is not null`.execute(db)
  upstream.hold(['401'])
  const stopped = world.start('worker')
  await addressesOf(stopped)
  await eventually('the request', () => upstream.requestsFor('401') > 0)
  await stopQuietly(db, stopped)
  upstream.release()
  upstream.sell(['102', '103', '301', '302', '401'])
  await faresOf(world, ['401'])
  return { stopped, stoppedAt: performance.now() }
}
