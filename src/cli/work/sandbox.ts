import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import {
  assertRules,
  type FaultRule,
  parseFaultText,
  SandboxFaultError,
} from '../../../sandbox/faults/fault-rule.ts'
import { withoutMark } from '../../../sandbox/routes-file.ts'
import { startSandbox } from '../../../sandbox/sandbox-server.ts'
import { createWorld } from '../../../sandbox/world/world.ts'
import { DEMO_RESELLER, listDemoFlights, seedDemoWatches } from '../../embedded/demo.ts'
import { type RivalReport, startRival } from '../../embedded/rival.ts'
import { requireSandbox } from '../../embedded/running-services.ts'
import { systemClock } from '../../platform/base/clock.ts'
import { AppError, messageOf } from '../../platform/base/errors.ts'
import { cleanText } from '../../platform/base/text.ts'
import { loadConfig } from '../../platform/config/config.ts'
import { createContext, createServiceContext, withApp } from '../context.ts'
import type { ProgramOptions } from '../describe.ts'
import { UsageError } from '../exit-codes.ts'
import { countOf, hangingIndent } from '../text/text-format.ts'

interface SandboxFlags {
  readonly host: string
  readonly port: number
  readonly seed: number
  readonly speed: number
  readonly token: string
  readonly routes?: string
  readonly fault?: readonly string[]
  readonly faults?: string
}

export async function serveSandbox(given: SandboxFlags): Promise<void> {
  const { host, port, seed, speed, token, routes, fault = [], faults: file } = given
  const rules = fault.flatMap(readFault)
  const fromFile = file === undefined ? [] : await readFaultsFile(file)
  const { log, terminal, signal } = createServiceContext('sandbox')
  const sandbox = await startSandbox({
    ...{ host, port, seed, speed, token },
    ...(routes === undefined ? {} : { routesFile: routes }),
    faults: [...fromFile, ...rules],
    clock: systemClock,
    log,
  })
  terminal.step(`sandbox at ${sandbox.url}, accessToken ${token}; Ctrl-C stops`)
  if (!signal.aborted) await once(signal, 'abort')
  const from = performance.now()
  await sandbox.close()
  log.info({ tookMs: Math.round(performance.now() - from) }, 'stopped')
  terminal.step('stopped')
}

/** Throws UsageError for a rule that is none. */
function readFault(text: string): readonly FaultRule[] {
  try {
    const rules: unknown = [parseFaultText(text)]
    assertRules(rules)
    return rules
  } catch (err) {
    if (err instanceof SandboxFaultError) throw new UsageError(err.message, { cause: err })
    throw err
  }
}

async function readFaultsFile(file: string): Promise<FaultRule[]> {
  const failed = (reason: string, cause: unknown) =>
    new UsageError(`--faults ${file}: ${reason}`, { cause })
  const text = await readFile(file, 'utf8').catch((err: unknown) => {
    throw failed(`cannot be read (${messageOf(err)})`, err)
  })
  try {
    const given: unknown = JSON.parse(withoutMark(text))
    assertRules(given)
    return given
  } catch (err) {
    const reason = messageOf(err)
    const isJson = !(err instanceof SyntaxError)
    throw failed(isJson ? reason : `is not JSON (${cleanText(reason, 200)})`, err)
  }
}

const WORLD_TIMEOUT_MS = 5_000

/** UPSTREAM_BASE_URL is not the address of a running sandbox. */
class NoSandboxError extends AppError {
  override readonly name = 'NoSandboxError'
  override readonly code = 'cli.no_sandbox'
  override readonly retryable = true

  constructor(baseUrl: string, why: string, options?: ErrorOptions) {
    super(`there is no sandbox at ${baseUrl}: ${why}`, options)
  }
}

/** Safe to run twice: a later run replaces flights that have departed. */
export async function watchDemo(options: ProgramOptions): Promise<void> {
  const { UPSTREAM_BASE_URL: baseUrl } = loadConfig()
  if (baseUrl === undefined) {
    throw new UsageError('UPSTREAM_BASE_URL is not set: it must be the address of a sandbox')
  }
  const { seed, worldTime } = await fetchWorld(baseUrl)
  await withApp({ role: 'demo', options }, async ({ database: { db } }, { terminal }) => {
    const watches = await seedDemoWatches(db, createWorld({ seed }), worldTime)
    terminal.print(
      { reseller: DEMO_RESELLER, watches },
      () => `the reseller "${DEMO_RESELLER}" watches ${countOf(watches, 'flight')}`,
    )
  })
}

/** The seed of a sandbox and its world time. Throws NoSandboxError. */
async function fetchWorld(baseUrl: string): Promise<{ seed: number; worldTime: Date }> {
  const address = `${baseUrl.replace(/\/$/, '')}/sandbox/world`
  const body: unknown = await fetch(address, { signal: AbortSignal.timeout(WORLD_TIMEOUT_MS) })
    .then((response) => response.json())
    .catch((err: unknown) => {
      throw new NoSandboxError(baseUrl, messageOf(err), { cause: err })
    })
  const { seed, worldTime } = (body ?? {}) as { seed?: unknown; worldTime?: unknown }
  const instant = new Date(String(worldTime))
  if (!Number.isInteger(seed) || Number.isNaN(instant.getTime())) {
    throw new NoSandboxError(baseUrl, 'its answer has no seed or no world time')
  }
  return { seed: Number(seed), worldTime: instant }
}

interface StoryStep {
  readonly name: string
  readonly fault: FaultRule & { readonly durationSeconds: number }
  /** What happens, and what shows it. */
  readonly says: readonly string[]
}

/** Each ends by itself: the sandbox forgets a fault after its time. */
const STORY: readonly StoryStep[] = [
  {
    name: 'held-list',
    fault: { name: 'half-list', endpoint: 'routes', durationSeconds: 60 },
    says: [
      'The route list has half of its routes for a minute. The next sync, within 20 s, holds it: nothing is applied.',
      'See: bin/farewatch runs review, and the view "Runs" of the page.',
      'After the minute the next list is normal again, and drops the held one.',
    ],
  },
  {
    name: 'outage',
    fault: { name: 'status', endpoint: 'verify', durationSeconds: 60, code: 503 },
    says: [
      'Every check of a fare is answered with 503 for a minute. Unknown is not unavailable: no fare is recorded as sold out.',
      'See: bin/farewatch status, whose warnings name the circuit breaker, and the view "Now" of the page.',
      'After the minute a probe finds the upstream well, and checks go on.',
    ],
  },
]

export async function runStory(options: ProgramOptions): Promise<void> {
  const { config, terminal, signal } = createContext({ options })
  const { url } = await requireSandbox(config.FAREWATCH_HOME)
  const faults = `${url}/sandbox/faults`
  terminal.step('two steps of a minute each; Ctrl-C ends them, and the sandbox is as before')
  for (const { name, fault, says } of STORY) {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify(fault)
    const { ok, status } = await fetch(faults, { method: 'POST', headers, body, signal })
    if (!ok) throw new NoSandboxError(url, `it answered ${status} to a fault`)
    terminal.print({ step: name, fault }, () => stepText(name, says, terminal.width))
    try {
      await systemClock.sleep(fault.durationSeconds * 1_000, signal)
    } finally {
      // After an interrupt the fault is still in force.
      if (signal.aborted) await fetch(`${faults}/${fault.name}`, { method: 'DELETE' })
    }
  }
}

export async function runRival(options: ProgramOptions): Promise<void> {
  const { config, terminal, log, signal } = createContext({ options })
  const sandbox = await requireSandbox(config.FAREWATCH_HOME)
  let flights: readonly string[] = []
  await withApp({ role: 'rival', options }, async ({ database: { db } }) => {
    flights = await listDemoFlights(db)
  })
  terminal.step(`a script asks about ${countOf(flights.length, 'flight')} every 15 s; Ctrl-C stops`)
  const onReport = (report: RivalReport) =>
    terminal.print(report, () => `${report.what}: ${report.of}`)
  const rival = startRival(sandbox, flights, { clock: systemClock, log, onReport })
  if (!signal.aborted) await once(signal, 'abort')
  await rival.stop()
}

function stepText(name: string, says: readonly string[], width: number): string {
  return [name, ...says.map((line) => hangingIndent('  ', line, width))].join('\n')
}
