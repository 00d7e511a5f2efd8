import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { DATABASE, ensureData, SUPERUSER } from '../../src/embedded/postgres-data.ts'
import { findPlace, type Place } from '../../src/embedded/postgres-place.ts'
import { stopServer } from '../../src/embedded/server-process.ts'
import { startServer } from '../../src/embedded/start-server.ts'
import { withTimeout } from '../../src/platform/base/clock.ts'
import { type Db, openDatabase } from '../../src/platform/db/database.ts'
import { readGeneration } from '../../src/platform/db/generations.ts'
import { proveHistory } from '../../src/routes/prove/prove-history.ts'
import { ago, fareOf, itemsOf } from '../api/reseller-calls.ts'
import {
  addEndpoint,
  fanOutAll,
  type Receiver,
  startDispatcher,
  startReceiver,
} from '../delivery/delivery-fixtures.ts'
import { available, record } from '../fares/fare-fixtures.ts'
import { noScrub, routes, sync } from '../routes/sync-fixtures.ts'
import { ask, bearer, newKeyText, startApi } from '../support/api-server.ts'
import { runFarewatch } from '../support/child-process.ts'
import { adminQuery, databaseUrl } from '../support/postgres-server.ts'
import { freePort } from '../support/redis-tier.ts'
import { silentLog } from '../support/silent-log.ts'
import { until } from '../support/until.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'

const SPAN = 10_000_000_000
const run = promisify(execFile)

/** A server of its own, with an archive of its write-ahead log. */
interface Server {
  readonly place: Place
  readonly archive: string
  readonly url: string
  start(data: string, more?: Record<string, string>): Promise<void>
  stop(): Promise<void>
}

async function openServer(): Promise<Server> {
  const home = await mkdtemp(path.join(os.tmpdir(), 'farewatch-restore-'))
  const place = await findPlace(home)
  const archive = path.join(place.directory, 'archive')
  const settings = {
    wal_level: 'replica',
    archive_mode: 'on',
    archive_command: `test ! -f ${archive}/%f && cp %p ${archive}/%f`,
  }
  await ensureData(place, settings)
  // It belongs to the user that runs the server, as the data do.
  await run('cp', ['-a', path.join(place.data, 'pg_wal/archive_status'), archive])
  const port = await freePort()
  const password = (await readFile(place.passwordFile, 'utf8')).trim()
  let running = place.data
  const stop = () => stopServer(running, silentLog)
  onTestFinished(async () => {
    await stop()
    for (const folder of [place.directory, home]) await rm(folder, { recursive: true, force: true })
  })
  return {
    place,
    archive,
    url: `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${DATABASE}`,
    start: async (data, more = {}) => {
      running = data
      await startServer({ ...place, data }, port, { ...settings, ...more })
    },
    stop,
  }
}

/** What the operator does: `backUp` while the services run, `restore` after they were stopped. */
interface Steps {
  backUp(server: Server): Promise<void>
  /** A few records later. */
  afterBackup?(server: Server): Promise<void>
  restore(server: Server): Promise<void>
}

/** A start of a service. The command does what each of them does first. */
async function startOnce(url: string): Promise<string> {
  const { exit, stderr } = await runFarewatch(['migrate'], { DATABASE_URL: url })
  expect(exit).toBe(0)
  return stderr
}

async function withDb<T>(url: string, work: (db: Db) => Promise<T>): Promise<T> {
  const { db, close } = openDatabase({ url, applicationName: 'test', log: silentLog })
  try {
    return await work(db)
  } finally {
    await close()
  }
}

/** Records a price for each amount. Every record is one of the reseller's feed too. */
async function recordPrices(db: Db, from: number, amounts: readonly number[]): Promise<void> {
  const fare = await fareOf(db, '101')
  for (const [i, amount] of amounts.entries()) {
    await record(db, fare, ago(from - i), available(`${amount}.00`))
  }
}

/** Delivers all that is due to the receiver. */
async function deliver(db: Db, receiver: Receiver, count: number): Promise<void> {
  const before = receiver.received.length
  const dispatcher = startDispatcher(db)
  await dispatcher.dispatch()
  await withTimeout(dispatcher.recorded(count), 30_000)
  await dispatcher.close(1_000)
  expect(receiver.received.length - before).toBe(count)
}

interface Life {
  readonly resellerId: number
  readonly receiver: Receiver
}

/** Records 1 to 7, of which 6 and 7 wait for their delivery at the backup, then 8 to 11, all of them delivered. */
async function firstLife(server: Server, { backUp, afterBackup }: Steps): Promise<Life> {
  const { url } = server
  const receiver = await startReceiver()
  await startOnce(url)
  const resellerId = await withDb(url, async (db) => {
    await sync(db, routes('PMI-MAD'))
    const id = await resellerWith(db, [cells({ reference: 'A-1', flight_id: '101' })])
    await addEndpoint(db, id, { address: receiver.url })
    await recordPrices(db, 29, [100, 110, 120, 130, 140])
    await fanOutAll(db)
    await deliver(db, receiver, 5)
    await recordPrices(db, 24, [150, 160])
    await fanOutAll(db)
    return id
  })
  await backUp(server)
  await withDb(url, async (db) => {
    await recordPrices(db, 22, [170])
    await fanOutAll(db)
  })
  await afterBackup?.(server)
  await withDb(url, async (db) => {
    await recordPrices(db, 21, [180, 190, 200])
    await deliver(db, receiver, 6)
  })
  return { resellerId, receiver }
}

/** Restores, and compares what readers and receivers get with what they had. */
async function rehearse(
  { backUp, afterBackup, restore }: Steps,
  { end, pending }: { readonly end: number; readonly pending: number },
): Promise<void> {
  const server = await openServer()
  await server.start(server.place.data)
  const { resellerId, receiver } = await firstLife(server, {
    backUp,
    restore,
    ...(afterBackup ? { afterBackup } : {}),
  })
  await restore(server)
  await startOnce(server.url)

  await withDb(server.url, async (db) => {
    expect(await readGeneration(db)).toMatchObject({ number: 2 })
    await deliver(db, receiver, pending)
    await recordPrices(db, 10, [175, 185, 195])
    await deliver(db, receiver, 3)

    const base = await startApi(db)
    const headers = bearer(await newKeyText(db, { resellerId }))
    const read = (after: number) => ask(`${base}/api/v1/watch-changes?after=${after}`, { headers })
    expect(await read(11)).toMatchObject({
      status: 410,
      body: { code: 'changes.restored', continueAfter: end },
    })
    const items = itemsOf<{ seq: number; previous: number }>(await read(5))
    const kept = Array.from({ length: end - 5 }, (_, i) => 6 + i)
    const added = [1, 2, 3].map((n) => SPAN + n)
    expect(items.map(({ seq }) => seq)).toEqual([...kept, ...added])
    expect(items.map(({ previous }) => previous)).toEqual([
      5,
      ...kept.slice(0, -1),
      0,
      ...added.slice(0, -1),
    ])
    const { kinds } = await proveHistory(
      { db, scrub: noScrub, confirmations: 2 },
      { signal: new AbortController().signal },
    )
    expect(kinds).toEqual({})
  })
  const messages = receiver.received.map(({ ids, body: [message] }) => ({ id: ids[0], ...message }))
  const byNumber = Map.groupBy(messages, ({ data }) => data?.seq)
  for (const [seq, sent] of byNumber) {
    const contents = new Set(sent.map(({ type, data }) => JSON.stringify({ type, data })))
    expect([seq, contents.size]).toEqual([seq, 1])
    expect(new Set(sent.map(({ id }) => id)).size).toBe(1)
  }
  expect(byNumber.get(7)).toHaveLength(2)
  expect(byNumber.size).toBe(11 + 3)
}

const copyOf = ({ place }: Server) => path.join(place.directory, 'copy')

/** The low-level backup of PostgreSQL: the files between two calls of one session, and the label that the second returns. */
async function copyBase(server: Server): Promise<void> {
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  try {
    await client.query(`select pg_backup_start('rehearsal', fast => true)`)
    await run('cp', ['-a', server.place.data, copyOf(server)])
    const { rows } = await client.query('select labelfile from pg_backup_stop()')
    await run('rm', [
      '-rf',
      ...['postmaster.pid', 'pg_wal/0*'].map((name) => path.join(copyOf(server), name)),
    ])
    await writeLike(server, 'backup_label', rows[0].labelfile)
  } finally {
    await client.end()
  }
}

/** Writes a file of the copied data that belongs to the user that runs the server. */
async function writeLike(server: Server, name: string, text: string): Promise<void> {
  const file = path.join(copyOf(server), name)
  await run('cp', ['-a', path.join(copyOf(server), 'PG_VERSION'), file])
  await writeFile(file, text)
}

describe('a restore', () => {
  it('from a base backup and archived WAL, to a point in time, loses no record in silence', async () => {
    await rehearse(
      {
        backUp: copyBase,
        afterBackup: async ({ url }) => {
          await adminQuery(url, `select pg_create_restore_point('eight'), pg_switch_wal()`)
        },
        restore: async (server) => {
          await adminQuery(server.url, 'select pg_switch_wal()')
          await server.stop()
          await writeLike(server, 'recovery.signal', '')
          await server.start(copyOf(server), {
            restore_command: `cp ${server.archive}/%f %p`,
            recovery_target_name: 'eight',
            recovery_target_action: 'promote',
          })
          await until('the end of the recovery', async () => {
            const client = new pg.Client({ connectionString: server.url })
            await client.connect()
            const { rows } = await client.query('select pg_is_in_recovery() as recovers')
            await client.end()
            return rows[0].recovers === false
          })
        },
      },
      { end: 8, pending: 3 },
    )
  })

  it('from copied files is reported by "farewatch restored", and loses no record in silence', async () => {
    await rehearse(
      {
        backUp: async (server) => {
          await server.stop()
          await run('cp', ['-a', server.place.data, copyOf(server)])
          await server.start(server.place.data)
        },
        restore: async (server) => {
          await server.stop()
          await server.start(copyOf(server))
          await startOnce(server.url)
          const noticed = await withDb(server.url, readGeneration)
          expect(noticed, 'copied files look like the original').toMatchObject({ number: 1 })
          const { stdout } = await runFarewatch(['restored'], { DATABASE_URL: server.url })
          expect(stdout).toMatch(
            /^generation 2 begins: .* of 1 reseller go on at 1 times 10,000,000,000/,
          )
        },
      },
      { end: 7, pending: 2 },
    )
  })

  it('into a database with another oid, as pg_restore makes one, loses no record in silence', async () => {
    const admin = ({ url }: Server) => databaseUrl(url, 'postgres')
    await rehearse(
      {
        backUp: (server) => adminQuery(admin(server), `create database kept template ${DATABASE}`),
        restore: async (server) => {
          await adminQuery(admin(server), `drop database ${DATABASE}`)
          await adminQuery(admin(server), `alter database kept rename to ${DATABASE}`)
        },
      },
      { end: 7, pending: 2 },
    )
  })
})
