import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { type Command, InvalidArgumentError } from 'commander'
import { systemClock } from '../../base/clock.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { cleanText } from '../../base/text.ts'
import { DEMO_RESELLER, importDemoWatches } from '../../embedded/demo.ts'
import {
  assertRules,
  FAULT_NAMES,
  type FaultRule,
  parseFaultText,
  SandboxFaultError,
} from '../../sandbox/faults/fault-rule.ts'
import { withoutMark } from '../../sandbox/routes-file.ts'
import { startSandbox } from '../../sandbox/sandbox-server.ts'
import { createWorld } from '../../sandbox/world/world.ts'
import { createContext, createServiceContext, withApp } from '../context.ts'
import { UsageError } from '../exit-codes.ts'
import { interruptSignal } from '../interrupt.ts'
import { addressOption, integerOption, numberOption } from '../option-parsers.ts'
import { countOf } from '../text/text-format.ts'

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

const EXAMPLES = `
Examples:
  bin/farewatch sandbox --routes routes.json --port 8090
  bin/farewatch sandbox --speed 60 --fault status:verify:0.2:60,code=503 --fault half-list:routes

A fault is NAME[:endpoint][:probability][:seconds][,key=value…]; what is left empty has its default:
every endpoint, always, until it is removed. The names, explained in docs/reference/sandbox.md:
${FAULT_NAMES.join(', ').replace(/(.{1,94}(?:,|$))\s?/g, '  $1\n')}`

export function addSandboxCommand(program: Command): void {
  program
    .command('sandbox')
    .description('serve a stand-in for the upstream, from a world that a seed determines')
    .option('--host <address>', '0.0.0.0 is every address', addressOption, '127.0.0.1')
    .option('--port <port>', 'port, 0 for any free one', integerOption(0, 65_535), 8090)
    .option('--seed <seed>', 'which world', integerOption(0, 2 ** 31), 1)
    .option('--speed <n>', 'world seconds a second', numberOption(0, 1_000_000), 1)
    .option('--routes <file>', 'serve the Route[] of a JSON file in place of the world’s routes')
    .option('--token <token>', 'the accessToken that verify takes', 'sandbox-token')
    .option('--fault <rule>', 'something that goes wrong; repeatable', faultOption)
    .option('--faults <file>', 'a JSON array of fault rules, before those of --fault')
    .addHelpText('after', EXAMPLES)
    .action(async ({ routes, fault = [], faults: file, ...flags }: SandboxFlags) => {
      const ofFile = file === undefined ? [] : await readFaultsFile(file)
      const { log, terminal } = createServiceContext()
      const sandbox = await startSandbox({
        ...flags,
        ...(routes === undefined ? {} : { routesFile: routes }),
        faults: [...ofFile, ...fault],
        clock: systemClock,
        log,
      })
      terminal.step(`sandbox at ${sandbox.url}, accessToken ${flags.token}; Ctrl-C stops`)
      const signal = interruptSignal()
      if (!signal.aborted) await once(signal, 'abort')
      const from = performance.now()
      await sandbox.close()
      log.info({ tookMs: Math.round(performance.now() - from) }, 'stopped')
      terminal.step('stopped')
    })
}

/** Collects the rules of a repeated flag. */
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
  const refused = (reason: string, cause: unknown) =>
    new UsageError(`--faults ${file}: ${reason}`, { cause })
  const text = await readFile(file, 'utf8').catch((err: unknown) => {
    throw refused(`cannot be read (${messageOf(err)})`, err)
  })
  try {
    const given: unknown = JSON.parse(withoutMark(text))
    assertRules(given)
    return given
  } catch (err) {
    const reason = messageOf(err)
    throw refused(
      err instanceof SyntaxError ? `is not JSON (${cleanText(reason, 200)})` : reason,
      err,
    )
  }
}

const NEEDS = { role: 'demo', sandbox: false }
const DEADLINE_MS = 5_000

/** What answers at UPSTREAM_BASE_URL is no sandbox, or nothing does. */
class NoSandboxError extends AppError {
  override readonly name = 'NoSandboxError'
  override readonly code = 'cli.no_sandbox'
  override readonly retryable = true

  constructor(baseUrl: string, why: string, options?: ErrorOptions) {
    super(`no sandbox of ours at ${baseUrl}: ${why}`, options)
  }
}

export function addDemoCommand(program: Command): void {
  program
    .command('demo')
    .description(`watch flights of a running sandbox, as the reseller "${DEMO_RESELLER}"`)
    .option('--json', 'as one JSON object')
    .addHelpText(
      'after',
      '\nExample:\n  UPSTREAM_BASE_URL=http://127.0.0.1:8090 bin/farewatch demo\n\n' +
        'For a demonstration in parts: "bin/farewatch up" without UPSTREAM_BASE_URL does this by itself.',
    )
    .action(watchDemo)
}

/** Safe to run twice: the reseller's one watch list then holds the flights that are interesting now. */
async function watchDemo({ json }: { json?: boolean }): Promise<void> {
  const context = createContext({ quiet: true })
  const baseUrl = context.config.UPSTREAM_BASE_URL
  if (baseUrl === undefined)
    throw new UsageError('UPSTREAM_BASE_URL is not set: where is the sandbox?')
  const { seed, worldTime } = await askSandbox(baseUrl)
  await withApp(context, NEEDS, async ({ database }) => {
    const watches = await importDemoWatches(database.db, createWorld({ seed }), worldTime)
    context.terminal.out(
      json === true
        ? JSON.stringify({ reseller: DEMO_RESELLER, watches })
        : `reseller "${DEMO_RESELLER}" watches ${countOf(watches, 'flight')}`,
    )
  })
}

/** Which world the sandbox serves, and what time it is there. Throws NoSandboxError. */
async function askSandbox(baseUrl: string): Promise<{ seed: number; worldTime: Date }> {
  const address = `${baseUrl.replace(/\/$/, '')}/sandbox/world`
  const body: unknown = await fetch(address, { signal: AbortSignal.timeout(DEADLINE_MS) })
    .then((response) => response.json())
    .catch((err: unknown) => {
      throw new NoSandboxError(baseUrl, messageOf(err), { cause: err })
    })
  const { seed, worldTime } = (body ?? {}) as { seed?: unknown; worldTime?: unknown }
  const instant = new Date(String(worldTime))
  if (!Number.isInteger(seed) || Number.isNaN(instant.getTime())) {
    throw new NoSandboxError(baseUrl, 'it does not tell its world')
  }
  return { seed: Number(seed), worldTime: instant }
}
