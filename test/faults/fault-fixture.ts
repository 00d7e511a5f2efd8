import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import type { FaultRule } from '../../sandbox/faults/fault-rule.ts'
import type { LoggedRequest, LogPage } from '../../sandbox/operations/request-log.ts'
import type { Sandbox } from '../../sandbox/sandbox-server.ts'
import { routesAt } from '../../sandbox/world/route-life.ts'
import { createWorld } from '../../sandbox/world/world.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { createScrub } from '../../src/platform/base/secrets.ts'
import { type Db, openDatabase } from '../../src/platform/db/database.ts'
import { flightsThatAre, startTestSandbox, TOKEN } from '../sandbox/support.ts'
import { silentLog } from '../support/silent-log.ts'
import { cloneDatabase } from '../support/test-database.ts'
import { type ClientFixture, clientOf } from '../upstream/client-fixture.ts'

/** The world stands still here. Its departures lie ahead of every test. */
const START = new Date('2036-03-01T00:00:00Z')
const ROUTES = 1_100

/** One sandbox whose world does not change, and one database, for many tests. */
export interface FaultFixture {
  readonly sandbox: Sandbox
  readonly db: Db
  readonly databaseUrl: string
  /** Bookable flights and sold-out flights, each of another pair of places. */
  readonly open: readonly string[]
  readonly sold: readonly string[]
  /** Sets the faults until the end of the test. */
  setFaults(...rules: FaultRule[]): void
  clearFaults(): void
  /** A client with the token, until the end of the test. */
  client(options?: Parameters<typeof clientOf>[1]): ClientFixture
  /** The requests after a sequence number. */
  logAfter(seq: number): Promise<readonly LoggedRequest[]>
  /** The sequence number of the last request. */
  lastSeq(): Promise<number>
  close(): Promise<void>
}

export async function prepareFaultFixture(): Promise<FaultFixture> {
  const routesFile = await writeRoutes()
  const options = { worldStart: START, clock: systemClock, speed: 0, routesFile }
  const sandbox = await startTestSandbox(options)
  const clone = await cloneDatabase()
  const database = openDatabase({ url: clone.url, applicationName: 'test', log: silentLog })
  const logAfter = (seq: number) => readLog(sandbox, seq)
  return {
    sandbox,
    db: database.db,
    databaseUrl: clone.url,
    open: flightsThatAre(sandbox, true, START),
    sold: flightsThatAre(sandbox, false, START),
    setFaults: (...rules) => {
      sandbox.setFaults(rules)
      onTestFinished(() => sandbox.setFaults([]))
    },
    clearFaults: () => sandbox.setFaults([]),
    client: (options) => {
      const credential = { accessToken: TOKEN, scrub: createScrub([TOKEN]) }
      const fixture = clientOf(sandbox.url, { ...credential, ...options })
      onTestFinished(() => fixture.client.close())
      return fixture
    },
    logAfter,
    lastSeq: async () => (await logAfter(0)).at(-1)?.seq ?? 0,
    close: async () => {
      await database.close()
      await clone.drop()
      await sandbox.close()
      await rm(path.dirname(routesFile), { recursive: true })
    },
  }
}

/** As many routes as the rules of the guard need. The whole list of the world would take three times as long. */
async function writeRoutes(): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'farewatch-faults-'))
  const file = path.join(folder, 'routes.json')
  const routes = routesAt(createWorld({ seed: 1 }), START).slice(0, ROUTES)
  await writeFile(file, JSON.stringify(routes))
  return file
}

async function readLog(sandbox: Sandbox, seq: number): Promise<LoggedRequest[]> {
  const all: LoggedRequest[] = []
  for (let after = seq; ; ) {
    const response = await fetch(`${sandbox.url}/sandbox/log?after=${after}`)
    const { entries, next } = (await response.json()) as LogPage
    if (entries.length === 0) return all
    all.push(...entries)
    after = next
  }
}
