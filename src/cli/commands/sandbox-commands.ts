import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { type Command, InvalidArgumentError } from 'commander'
import {
  assertRules,
  FAULT_NAMES,
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
import { UsageError } from '../exit-codes.ts'
import { addressOption, integerOption, numberOption } from '../option-parsers.ts'
import { countOf, example, hangingIndent } from '../text/text-format.ts'

interface SandboxFlags {
  readonly host: string
  readonly port: number
  readonly seed: number
  readonly speed: number
  readonly token: string
  readonly routes?: string
  readonly fault?: readonly FaultRule[]
  readonly faults?: string
}

const FAULT_HELP = `
A fault rule is NAME[:endpoint][:probability][:seconds][,key=value…].
The defaults are every endpoint, every request and no end.
docs/reference/sandbox.md describes the names:
${FAULT_NAMES.join(', ').replace(/(.{1,76}(?:,|$))\s?/g, '  $1\n')}`

export function addSandboxCommand(program: Command): void {
  const sandbox = program
    .command('sandbox')
    .description('Serve a sandbox: a simulated upstream with a world that the seed determines')
    .option('--host <address>', 'the address; 0.0.0.0 is every address', addressOption, '127.0.0.1')
    .option('--port <port>', 'the port; 0 takes any free one', integerOption(0, 65_535), 8090)
    .option('--seed <seed>', 'the seed of the world', integerOption(0, 2 ** 31), 1)
    .option('--speed <n>', 'world seconds per real second', numberOption(0, 1_000_000), 1)
    .option('--routes <file>', 'serve the Route[] of a JSON file instead of the world’s routes')
    .option('--token <token>', 'the accessToken that verify accepts', 'sandbox-token')
    .option('--fault <rule>', 'a fault rule; may be given several times', faultOption)
    .option('--faults <file>', 'a JSON array of fault rules; they come before those of --fault')
    .addHelpText('after', FAULT_HELP.trimEnd())
    .addHelpText(
      'after',
      example(
        'sandbox --routes routes.json --port 8090',
        'sandbox --speed 60 --fault status:verify:0.2:60,code=503 --fault half-list:routes',
      ),
    )
    .action(serveSandbox)
  addStoryCommand(sandbox)
  addRivalCommand(sandbox)
}

async function serveSandbox({ routes, fault = [], faults: file, ...flags }: SandboxFlags) {
  const fromFile = file === undefined ? [] : await readFaultsFile(file)
  const { log, terminal, signal } = createServiceContext('sandbox')
  const sandbox = await startSandbox({
    ...flags,
    ...(routes === undefined ? {} : { routesFile: routes }),
    faults: [...fromFile, ...fault],
    clock: systemClock,
    log,
  })
  terminal.step(`sandbox at ${sandbox.url}, accessToken ${flags.token}; Ctrl-C stops`)
  if (!signal.aborted) await once(signal, 'abort')
  const from = performance.now()
  await sandbox.close()
  log.info({ tookMs: Math.round(performance.now() - from) }, 'stopped')
  terminal.step('stopped')
}

/** Adds one rule to those of the flags before. */
function faultOption(text: string, before: readonly FaultRule[] = []): FaultRule[] {
  try {
    const rules: unknown = [parseFaultText(text)]
    assertRules(rules)
    return [...before, ...rules]
  } catch (err) {
    if (err instanceof SandboxFaultError) throw new InvalidArgumentError(err.message)
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

export function addDemoCommand(program: Command): void {
  program
    .command('demo')
    .description(`Watch flights of a running sandbox for the reseller "${DEMO_RESELLER}"`)
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
"bin/farewatch up" does this itself if UPSTREAM_BASE_URL is not set.

Example:
  UPSTREAM_BASE_URL=http://127.0.0.1:8090 bin/farewatch demo`,
    )
    .action(watchDemo)
}

/** Safe to run twice: a later run replaces flights that have departed. */
async function watchDemo({ json }: { json?: boolean }): Promise<void> {
  const { UPSTREAM_BASE_URL: baseUrl } = loadConfig()
  if (baseUrl === undefined) {
    throw new UsageError('UPSTREAM_BASE_URL is not set: it must be the address of a sandbox')
  }
  const { seed, worldTime } = await fetchWorld(baseUrl)
  await withApp({ role: 'demo' }, async ({ database: { db } }, { terminal }) => {
    const watches = await seedDemoWatches(db, createWorld({ seed }), worldTime)
    terminal.print(
      json,
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
      'See: bin/farewatch sync review, and the view "Runs" of the page.',
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

function addStoryCommand(sandbox: Command): void {
  sandbox
    .command('story')
    .description('Show on the sandbox of a running "up" how a bad list and an outage look')
    .option('--json', 'print one line of JSON per step')
    .addHelpText(
      'after',
      '\nThe two steps follow each other and take two minutes. Ctrl-C ends them. The sandbox of "up" shows a sell-out, a\nreopening, another price, other times and routes that come and go by itself, in its first two minutes.',
    )
    .addHelpText('after', example('sandbox story'))
    .action(runStory)
}

async function runStory({ json }: { readonly json?: boolean }): Promise<void> {
  const { config, terminal, signal } = createContext()
  const { url } = await requireSandbox(config.FAREWATCH_HOME)
  const faults = `${url}/sandbox/faults`
  terminal.step('two steps of a minute each; Ctrl-C ends them, and the sandbox is as before')
  for (const { name, fault, says } of STORY) {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify(fault)
    const { ok, status } = await fetch(faults, { method: 'POST', headers, body, signal })
    if (!ok) throw new NoSandboxError(url, `it answered ${status} to a fault`)
    terminal.print(json, { step: name, fault }, () => stepText(name, says, terminal.width))
    try {
      await systemClock.sleep(fault.durationSeconds * 1_000, signal)
    } finally {
      // After an interrupt the fault is still in force.
      if (signal.aborted) await fetch(`${faults}/${fault.name}`, { method: 'DELETE' })
    }
  }
}

function addRivalCommand(sandbox: Command): void {
  sandbox
    .command('rival')
    .description(
      'Run a script of twenty lines on the flights of a running demo, and print what it would report',
    )
    .option('--json', 'print one line of JSON per report')
    .addHelpText(
      'after',
      '\nIt compares each answer with the one before. "up" runs it too, to say what a script would have reported of a fault.',
    )
    .addHelpText('after', example('sandbox rival'))
    .action(runRival)
}

async function runRival({ json }: { readonly json?: boolean }): Promise<void> {
  const { config, terminal, log, signal } = createContext()
  const sandbox = await requireSandbox(config.FAREWATCH_HOME)
  let flights: readonly string[] = []
  await withApp({ role: 'rival' }, async ({ database: { db } }) => {
    flights = await listDemoFlights(db)
  })
  terminal.step(`a script asks about ${countOf(flights.length, 'flight')} every 15 s; Ctrl-C stops`)
  const onReport = (report: RivalReport) =>
    terminal.print(json, report, () => `${report.what}: ${report.of}`)
  const rival = startRival(sandbox, flights, { clock: systemClock, log, onReport })
  if (!signal.aborted) await once(signal, 'abort')
  await rival.stop()
}

function stepText(name: string, says: readonly string[], width: number): string {
  return [name, ...says.map((line) => hangingIndent('  ', line, width))].join('\n')
}
