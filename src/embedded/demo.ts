import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { flightBack, hasDeparted, searchFlights } from '../../sandbox/world/story.ts'
import type { World } from '../../sandbox/world/world.ts'
import type { EndpointDeps } from '../delivery/endpoints/change-endpoints.ts'
import {
  type Receiver,
  registerReceiver,
  type ShownWebhook,
  startReceiver,
} from '../delivery/receiver.ts'
import { FARE_CHANGE_KINDS } from '../platform/base/change-kinds.ts'
import type { Clock } from '../platform/base/clock.ts'
import { type Db, sql } from '../platform/db/database.ts'
import {
  createReseller,
  DuplicateResellerError,
  findReseller,
  type Reseller,
  requireReseller,
} from '../resellers/resellers.ts'
import { fieldValue } from '../upstream/question.ts'
import { deleteWatches } from '../watches/change-watches.ts'
import { importWatchList } from '../watches/import/import-watch-list.ts'
import { SETTING_FIELDS } from '../watches/rows/settings.ts'
import { rowsOf } from '../watches/rows/watch-row.ts'
import { cellsOfInput } from '../watches/watch-input.ts'
import { findWatchList, listWatches, type Watch } from '../watches/watch-lists.ts'
import type { Mortal } from './demonstration.ts'
import { undefinedIfMissing } from './postgres-errors.ts'

export const DEMO_RESELLER = 'demo'
const LIST = 'demo'
const FLIGHTS = 40

const SEED = 1
/** World seconds per real second: an hour of the world passes in a minute. */
const SPEED = 60
/** How often the time of the world is saved. */
const SAVE_MS = 5_000

interface StoredWorld {
  /** World time at which the demonstration began. All times are ISO 8601. */
  readonly storyAt: string
  /** Where the world goes on. While it runs, that is where it will be at the next save. */
  readonly worldTime: string
}

interface DemoWorld {
  readonly seed: number
  readonly speed: number
  readonly worldStart: Date
  readonly storyAt: Date
  /** Saves the time at which the world stops. */
  stop(): Promise<void>
}

/**
 * The world of the sandbox of a home. It stops with the process and goes on from there. Its time is saved every
 * five seconds; after a crash the world goes on at most that much later, so that it never goes back.
 */
export async function openDemoWorld(home: string, clock: Clock): Promise<DemoWorld> {
  const file = path.join(home, 'sandbox.json')
  const opened = clock.now()
  const { storyAt, worldTime } = (await readWorld(file)) ?? newWorld(opened)
  const worldStart = new Date(worldTime)
  let saved: Promise<void> = Promise.resolve()
  const save = (aheadMs: number) => {
    const ranMs = clock.now().getTime() - opened.getTime() + aheadMs
    const reached = new Date(worldStart.getTime() + ranMs * SPEED)
    const world = { storyAt, worldTime: reached.toISOString() }
    saved = saved.catch(() => undefined).then(() => writeWorld(file, world))
    return saved
  }
  await save(SAVE_MS)
  const saving = setInterval(() => void save(SAVE_MS).catch(() => undefined), SAVE_MS).unref()
  const stop = () => {
    clearInterval(saving)
    return save(0)
  }
  return { seed: SEED, speed: SPEED, worldStart, storyAt: new Date(storyAt), stop }
}

function newWorld(now: Date): StoredWorld {
  return { storyAt: now.toISOString(), worldTime: now.toISOString() }
}

async function writeWorld(file: string, world: StoredWorld): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true })
  const partial = `${file}.${process.pid}`
  await writeFile(partial, `${JSON.stringify(world)}\n`)
  await rename(partial, file)
}

/** Undefined if there is no file, or it is not such a file: then a new world begins. */
async function readWorld(file: string): Promise<StoredWorld | undefined> {
  const text = (await readFile(file, 'utf8').catch(undefinedIfMissing)) ?? ''
  try {
    const { storyAt, worldTime } = JSON.parse(text) ?? {}
    return [storyAt, worldTime].some((time) => Number.isNaN(Date.parse(time)))
      ? undefined
      : { storyAt, worldTime }
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
 * Gives the demo reseller a list of flights to watch, those of the demonstration first. If it has the list already,
 * only watches whose flight has departed in the world are replaced; those that were edited, added or deleted stay
 * so.
 * @param instant the present world time.
 * @returns the number of watches in the list.
 */
export async function seedDemoWatches(db: Db, world: World, instant: Date): Promise<number> {
  const { id: resellerId } = await ensureDemoReseller(db)
  const isNew = (await findWatchList({ db, resellerId }, LIST)) === undefined
  const watches = await listWatches(db, resellerId, { list: LIST, limit: 1000 })
  const departed = watches.filter(
    (watch) => isSeeded(world, watch) && hasDeparted(world, flightOf(watch), instant),
  )
  const planned = isNew ? [...(world.story?.flights.keys() ?? [])] : []
  // The database may be newer than the world.
  const story = planned.filter((flightId) => !hasDeparted(world, flightId, instant))
  const missing = isNew ? FLIGHTS - story.length : departed.length
  const watched = watches.map(flightOf)
  const without = new Set([...story, ...watched])
  const others = searchFlights(world, instant, { n: missing, without, quietMs: 0 })
  const rows = [...story, ...others].map((flightId, i) =>
    cellsOfInput(LIST, {
      reference: referenceOf(flightId),
      flightId,
      returnFlightId: i % 9 === 8 ? flightBack(world, flightId) : undefined,
      passengers: { [i % 9 === 7 ? 'residents' : 'nonResidents']: { adults: 1 + (i % 3) } },
    }),
  )
  await importWatchList(db, { resellerId, source: rowsOf('the demo', rows) })
  if (departed.length > 0) {
    const references = departed.map(({ entry }) => entry.reference)
    await deleteWatches(db, { resellerId, list: LIST, references })
  }
  return watches.length - departed.length + rows.length
}

/** The flights of its list. */
export async function listDemoFlights(db: Db): Promise<string[]> {
  const { id } = await ensureDemoReseller(db)
  const watches = await listWatches(db, id, { list: LIST, limit: 1000 })
  return watches.flatMap(({ entry }) => entry.question?.flightId ?? [])
}

/** A flight that can be booked and that the demo reseller does not watch. */
export async function findFlightToTry(
  db: Db,
  world: World,
  instant: Date,
): Promise<string | undefined> {
  const { id } = await ensureDemoReseller(db)
  const without = new Set((await listWatches(db, id, { limit: 1000 })).map(flightOf))
  return searchFlights(world, instant, { n: 1, without })[0]
}

/** Keeps the flight to try for the page; undefined where there is none. */
export async function saveFlightToTry(db: Db, flightId: string | undefined): Promise<void> {
  await sql`
    insert into demo (flight_id) values (${flightId ?? null})
        on conflict (is_row) do update set flight_id = excluded.flight_id
  `.execute(db)
}

/** Empty for a watch of a route. */
const flightOf = ({ entry }: Watch) => entry.question?.flightId ?? ''

const referenceOf = (flightId: string) => `demo-${flightId}`

/** An edited watch has another flight than its reference says, or a setting. */
function isSeeded(world: World, watch: Watch): boolean {
  const { entry, pausedAt } = watch
  const flightId = flightOf(watch)
  const back = entry.question?.returnFlightId ?? undefined
  return (
    entry.reference === referenceOf(flightId) &&
    (back === undefined || back === flightBack(world, flightId)) &&
    pausedAt === null &&
    SETTING_FIELDS.every((field) => (fieldValue(entry, field) ?? null) === field.default)
  )
}

const RECEIVER_HOST = '127.0.0.1'
const RECEIVER_DESCRIPTION = 'the receiver of the demo'

export interface DemoReceiver extends Receiver, Mortal {
  /**
   * What must be allowed as a target for its endpoint: its address and port alone, because all resellers may use
   * it.
   */
  readonly network: string
  /** Creates its endpoint, in place of that of the start before, whose port was another. */
  register(db: Db, deps: EndpointDeps): Promise<void>
}

/** Starts a receiver of webhooks on a free port of this machine. */
export async function startDemoReceiver(
  onWebhook: (webhook: ShownWebhook) => void,
): Promise<DemoReceiver> {
  let secret: string | null = null
  let deadUntil = 0
  const [refused, arrived] = [new Set<string>(), new Set<string>()]
  const isUp = (id: string) => {
    const up = Date.now() >= deadUntil
    if (!up) refused.add(id)
    else if (refused.has(id)) arrived.add(id)
    return up
  }
  const receiver = await startReceiver({
    host: RECEIVER_HOST,
    port: 0,
    secret: () => secret ?? undefined,
    now: () => new Date(),
    onWebhook,
    isUp,
  })
  return {
    ...receiver,
    die: (ms) => {
      deadUntil = Date.now() + ms
      refused.clear()
      arrived.clear()
    },
    counts: () => ({ refused: refused.size, arrived: arrived.size }),
    network: `${RECEIVER_HOST}/32:${new URL(receiver.url).port}`,
    register: async (db, deps) => {
      const { id: resellerId } = await ensureDemoReseller(db)
      const given = {
        target: receiver.url,
        description: RECEIVER_DESCRIPTION,
        kinds: [...FARE_CHANGE_KINDS, 'expired' as const],
      }
      secret = (await registerReceiver({ db, resellerId }, deps, given)).secret
    },
  }
}
