import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Db } from '../db/database.ts'
import { DuplicateResellerError } from '../resellers/reseller-errors.ts'
import {
  createReseller,
  findReseller,
  type Reseller,
  requireReseller,
} from '../resellers/resellers.ts'
import { searchDemoFlights } from '../sandbox/world/demo-flights.ts'
import type { World } from '../sandbox/world/world.ts'
import { rowsOf } from '../watch/files/open-watch-file.ts'
import { importWatchList } from '../watch/import/import-watch-list.ts'

/** World seconds a real second: an hour of the world goes by in a minute. */
const SPEED = 60
const SEED = 1

interface StoredWorld {
  readonly seed: number
  readonly speed: number
  /** When the world was first started, in real time; world time began there. */
  readonly startedAt: string
}

/**
 * The sandbox's world of this home: the same seed, and a clock that goes on where it would be by now, so that a
 * restart, or a second command beside `up`, meets the same world and not one that begins anew.
 */
export async function readDemoWorld(
  home: string,
  now: Date,
): Promise<{ seed: number; speed: number; worldStart: Date }> {
  const stored = await readStored(path.join(home, 'sandbox.json'), now)
  const startedMs = new Date(stored.startedAt).getTime()
  const worldStart = new Date(startedMs + (now.getTime() - startedMs) * stored.speed)
  return { seed: stored.seed, speed: stored.speed, worldStart }
}

/** A file that a crash left empty or half is as good as none: the world then begins anew. */
async function readStored(file: string, now: Date): Promise<StoredWorld> {
  const text = await readFile(file, 'utf8').catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'ENOENT') return ''
    throw err
  })
  const stored = storedWorld(text)
  if (stored !== undefined) return stored
  const fresh: StoredWorld = { seed: SEED, speed: SPEED, startedAt: now.toISOString() }
  await mkdir(path.dirname(file), { recursive: true })
  const half = `${file}.${process.pid}`
  await writeFile(half, `${JSON.stringify(fresh)}\n`)
  await rename(half, file)
  return fresh
}

function storedWorld(text: string): StoredWorld | undefined {
  try {
    const { seed, speed, startedAt } = JSON.parse(text)
    const whole = Number.isInteger(seed) && speed > 0 && !Number.isNaN(Date.parse(startedAt))
    return whole ? { seed, speed, startedAt } : undefined
  } catch (err) {
    if (err instanceof SyntaxError) return undefined
    throw err
  }
}

export const DEMO_RESELLER = 'demo'
const FLIGHTS = 40

/** The demo reseller, made by whichever process comes first. */
export async function ensureDemoReseller(db: Db): Promise<Reseller> {
  const found = await findReseller(db, DEMO_RESELLER)
  if (found !== undefined) return found
  return createReseller(db, DEMO_RESELLER).catch((err: unknown) => {
    if (err instanceof DuplicateResellerError) return requireReseller(db, DEMO_RESELLER)
    throw err
  })
}

/**
 * Gives the demo reseller a watch list of flights in the sandbox's world that leave soon, half of which change
 * within its next hours. At each start anew: the world has moved on, and yesterday's flights have left.
 * @param instant the world's time now.
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
