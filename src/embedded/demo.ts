import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { searchDemoFlights } from '../../sandbox/world/demo-flights.ts'
import type { World } from '../../sandbox/world/world.ts'
import {
  createEndpoint,
  deleteEndpoint,
  type EndpointDeps,
} from '../delivery/endpoints/change-endpoints.ts'
import { listEndpoints } from '../delivery/endpoints/endpoint-queries.ts'
import { type Receiver, type ShownWebhook, startReceiver } from '../delivery/receiver/receiver.ts'
import type { Db } from '../platform/db/database.ts'
import { DuplicateResellerError } from '../resellers/reseller-errors.ts'
import {
  createReseller,
  findReseller,
  type Reseller,
  requireReseller,
} from '../resellers/resellers.ts'
import { rowsOf } from '../watches/files/open-watch-file.ts'
import { importWatchList } from '../watches/import/import-watch-list.ts'
import { undefinedIfMissing } from './postgres-errors.ts'

export const DEMO_RESELLER = 'demo'
const FLIGHTS = 40

const SEED = 1
/** World seconds per real second: an hour of the world passes in a minute. */
const SPEED = 60

interface StoredWorld {
  readonly seed: number
  readonly speed: number
  /** When the world was first started, in real time; world time was equal then. */
  readonly startedAt: string
}

/**
 * The world of the sandbox of this home: always the same seed, and a clock that keeps running between starts. A
 * restart or a second command sees the same world.
 */
export async function readDemoWorld(
  home: string,
  now: Date,
): Promise<{ seed: number; speed: number; worldStart: Date }> {
  const { seed, speed, startedAt } = await readOrCreate(path.join(home, 'sandbox.json'), now)
  const startedMs = new Date(startedAt).getTime()
  const worldStart = new Date(startedMs + (now.getTime() - startedMs) * speed)
  return { seed, speed, worldStart }
}

/** A file that a crash left incomplete is replaced: a new world begins. */
async function readOrCreate(file: string, now: Date): Promise<StoredWorld> {
  const stored = parseWorld((await readFile(file, 'utf8').catch(undefinedIfMissing)) ?? '')
  if (stored !== undefined) return stored
  const fresh: StoredWorld = { seed: SEED, speed: SPEED, startedAt: now.toISOString() }
  await mkdir(path.dirname(file), { recursive: true })
  const partial = `${file}.${process.pid}`
  await writeFile(partial, `${JSON.stringify(fresh)}\n`)
  await rename(partial, file)
  return fresh
}

function parseWorld(text: string): StoredWorld | undefined {
  try {
    const { seed, speed, startedAt } = JSON.parse(text)
    const isValid = Number.isInteger(seed) && speed > 0 && !Number.isNaN(Date.parse(startedAt))
    return isValid ? { seed, speed, startedAt } : undefined
  } catch (err) {
    if (err instanceof SyntaxError) return undefined
    throw err
  }
}

/** Finds the demo reseller or creates it. Safe to call in several processes at once. */
export async function ensureDemoReseller(db: Db): Promise<Reseller> {
  const found = await findReseller(db, DEMO_RESELLER)
  if (found !== undefined) return found
  return createReseller(db, DEMO_RESELLER).catch((err: unknown) => {
    if (err instanceof DuplicateResellerError) return requireReseller(db, DEMO_RESELLER)
    throw err
  })
}

/**
 * Gives the demo reseller a watch list of flights; half of them change within hours of world time. Each start replaces the
 * flights, because earlier ones may have departed.
 * @param instant the present world time.
 */
export async function importDemoWatches(db: Db, world: World, instant: Date): Promise<number> {
  const reseller = await ensureDemoReseller(db)
  const rows = searchDemoFlights(world, instant, FLIGHTS).map((flightId, i) => ({
    list: 'demo',
    reference: `demo-${String(i + 1).padStart(2, '0')}`,
    flight_id: flightId,
    residents_adults: '0',
    non_residents_adults: String(1 + (i % 3)),
  }))
  await importWatchList(db, { resellerId: reseller.id, source: rowsOf('the demo', rows) })
  return rows.length
}

const RECEIVER_HOST = '127.0.0.1'
const RECEIVER_DESCRIPTION = 'the receiver of the demo'

export interface DemoReceiver extends Receiver {
  /** What must be allowed as a target for its endpoint: its address and port alone, because all resellers may use it. */
  readonly network: string
  /** Creates its endpoint, in place of that of the start before, whose port was another. */
  register(db: Db, deps: EndpointDeps): Promise<void>
}

/** Starts a receiver of webhooks on a free port of this machine. */
export async function startDemoReceiver(
  onWebhook: (webhook: ShownWebhook) => void,
): Promise<DemoReceiver> {
  let secret: string | null = null
  const receiver = await startReceiver({
    host: RECEIVER_HOST,
    port: 0,
    secret: () => secret ?? undefined,
    now: () => new Date(),
    onWebhook,
  })
  return {
    ...receiver,
    network: `${RECEIVER_HOST}/32:${new URL(receiver.url).port}`,
    register: async (db, deps) => {
      const { id: resellerId } = await ensureDemoReseller(db)
      const owner = { db, resellerId }
      for (const { id, description } of await listEndpoints(owner)) {
        if (description === RECEIVER_DESCRIPTION) await deleteEndpoint(owner, id)
      }
      const given = { target: receiver.url, description: RECEIVER_DESCRIPTION }
      secret = (await createEndpoint(owner, deps, given)).secret
    },
  }
}
