import type { Command } from 'commander'
import { AppError, messageOf } from '../../base/errors.ts'
import { DEMO_RESELLER, importDemoWatches } from '../../embedded/demo.ts'
import { createWorld } from '../../sandbox/world/world.ts'
import { createContext, withApp } from '../context.ts'
import { countOf } from '../text/text-format.ts'
import { UsageError } from '../usage-error.ts'

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
      '\nExample:\n  UPSTREAM_BASE_URL=http://127.0.0.1:8090 farewatch demo\n\n' +
        'For a demonstration in parts: "farewatch up" without UPSTREAM_BASE_URL does this by itself.',
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
