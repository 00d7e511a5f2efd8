import { type Clock, systemClock } from '../src/platform/base/clock.ts'
import type { Logger } from '../src/platform/base/logger.ts'
import { isLoopback } from '../src/platform/base/loopback.ts'
import { assertLocalCaller } from '../src/platform/http/local-only.ts'
import { createHttpServer, listen } from '../src/platform/http/server.ts'
import { createFaultLayer } from './faults/fault-layer.ts'
import { type FaultRule, readRules } from './faults/fault-rule.ts'
import { answerControlErrors, controlOperations } from './operations/control-operations.ts'
import { fareOperations } from './operations/fare-operations.ts'
import { faultOperations } from './operations/fault-operations.ts'
import { historyOperations } from './operations/history-operations.ts'
import { createRequestLog } from './operations/request-log.ts'
import { routeListOperations, worldRouteLists } from './operations/route-list-operations.ts'
import { createSandboxClock } from './operations/sandbox-clock.ts'
import { createDeliver } from './operations/serve-operations.ts'
import { fileRouteLists } from './routes-file.ts'
import { withStory } from './world/story.ts'
import { createWorld, type World } from './world/world.ts'

const LOG_CAPACITY = 200_000

export interface SandboxOptions {
  /** 0 takes any free port. */
  readonly port: number
  /** If unset, 127.0.0.1. */
  readonly host?: string
  /** An integer; the same seed is the same world. */
  readonly seed: number
  /** World seconds per real second, 0 or more. */
  readonly speed: number
  /** The accessToken that verify accepts. */
  readonly token: string
  /** A JSON file of routes to serve instead of the routes of the world. */
  readonly routesFile?: string
  readonly clock?: Clock
  /** World time at the start. If unset, it is the real time. */
  readonly worldStart?: Date
  /** World time at which a demonstration begins. If unset, there is none. */
  readonly storyAt?: Date
  /** Fault rules from the start. If unset, there are none. */
  readonly faults?: readonly FaultRule[]
  readonly log: Logger
}

export interface Sandbox {
  readonly url: string
  readonly world: World
  /** World time. */
  now(): Date
  /** Replaces all fault rules. Throws SandboxFaultError, and then changes nothing. */
  setFaults(rules: readonly FaultRule[]): void
  close(): Promise<void>
}

/**
 * Starts a simulated upstream: its whole interface, with a world that the seed determines.
 * Throws SandboxRoutesFileError, SandboxFaultError and PortTakenError.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { host = '127.0.0.1', port, seed, speed, token, routesFile, log } = options
  const realClock = options.clock ?? systemClock
  const worldStart = options.worldStart ?? realClock.now()
  const clock = createSandboxClock({ clock: realClock, speed, worldStart })
  const bare = createWorld({ seed })
  const { storyAt } = options
  const world = storyAt === undefined ? bare : withStory(bare, storyAt)
  const lists = routesFile ? await fileRouteLists(routesFile, seed) : worldRouteLists(world)
  const requestLog = createRequestLog(LOG_CAPACITY)
  const faults = createFaultLayer({ seed, realNow: clock.realNow })
  const setFaults = (rules: readonly FaultRule[]) => faults.set(readRules(rules))
  setFaults(options.faults ?? [])

  const server = createHttpServer({ log })
  if (isLoopback(host)) server.addHook('onRequest', assertLocalCaller)
  const deps = { clock, requestLog, deliver: createDeliver(faults) }
  routeListOperations(server, deps, lists)
  fareOperations(server, deps, { world, token })
  void server.register((scope, _options, done) => {
    answerControlErrors(scope)
    controlOperations(scope, { world, clock, lists, requestLog })
    historyOperations(scope, { world, clock, routesFromFile: routesFile !== undefined })
    done()
  })
  faultOperations(server, faults)

  const url = await listen(server, { host, port, setting: '--port' })
  log.info({ url, seed, speed, ...lists.counts(worldStart) }, 'sandbox listens')
  const now = () => clock.worldTimeAt(clock.realNow())
  return { url, world, now, setFaults, close: () => server.close() }
}
