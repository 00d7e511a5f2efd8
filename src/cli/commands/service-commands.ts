import { BlockList, isIP } from 'node:net'
import type { Command } from 'commander'
import { type App, openApp } from '../../app/app.ts'
import { monitorEmbedded } from '../../app/liveness.ts'
import { type RoleName, runRoles } from '../../app/run-roles.ts'
import { systemClock } from '../../base/clock.ts'
import { DEMO_RESELLER, ensureDemoReseller, importDemoWatches } from '../../embedded/demo.ts'
import { type Embedded, embedMissing } from '../../embedded/embed-missing.ts'
import { describeStore } from '../../queue/queue-connection.ts'
import { hasKeys } from '../../resellers/api-keys.ts'
import { type CliContext, createServiceContext } from '../context.ts'
import { UsageError } from '../exit-codes.ts'
import { exitSoon } from '../interrupt.ts'
import { example } from '../text/text-format.ts'

const SERVICES: Readonly<Record<'up' | RoleName, { about: string; roles: readonly RoleName[] }>> = {
  up: {
    about:
      'Run everything in one process, with an embedded database and a sandbox where none is set',
    roles: ['worker', 'api'],
  },
  worker: { about: 'Run the syncs and checks', roles: ['worker'] },
  api: { about: 'Run the API', roles: ['api'] },
}

export function addServiceCommands(program: Command): void {
  for (const [name, { about, roles }] of Object.entries(SERVICES)) {
    program
      .command(name)
      .description(about)
      .addHelpText('after', '\nStops in order on SIGTERM or Ctrl-C, within ten seconds.')
      .addHelpText('after', example(name))
      .action(() => runService(name, roles))
  }
}

async function runService(name: string, roles: readonly RoleName[]): Promise<void> {
  const context = createServiceContext()
  const { config, log, terminal, signal } = context
  if (name !== 'up' && config.DATABASE_URL === undefined) {
    throw new UsageError('DATABASE_URL is not set; "bin/farewatch up" brings an embedded database')
  }
  // Only a loopback address keeps the machines of the network out.
  const open = name === 'up' && isLoopback(config.API_HOST)
  const sandbox = roles.includes('worker')
  const embedded = await embedMissing(config, { log, clock: systemClock, sandbox })
  try {
    signal.throwIfAborted()
    reportStores(context, embedded)
    reportSandbox(context, embedded)
    const app = openApp({ config: embedded.config, log, clock: systemClock, role: name })
    await runRoles(app, {
      roles,
      ...(embedded.postgres === undefined ? {} : { monitor: monitorEmbedded }),
      ...(open ? { openReseller: DEMO_RESELLER } : {}),
      migrate: name === 'up',
      signal,
      seed: async (opened) => {
        await seedDemo(context, opened, embedded)
        if (open) await reportOpenApi(context, opened)
      },
      onStep: terminal.step,
      onReady: (addresses) => reportReady(context, addresses),
      release: embedded.release,
    })
  } finally {
    await embedded.release()
    terminal.step('stopped')
    exitSoon()
  }
}

/** A terminal shows the queue as a step of its own, once the queue answers. */
function reportStores({ terminal, log }: CliContext, { postgres, config }: Embedded): void {
  const { DATABASE_URL, REDIS_URL, FAREWATCH_HOME } = config
  const how = postgres?.startedHere === false ? 'embedded, already running' : 'embedded'
  const database =
    postgres === undefined
      ? describeStore({ kind: 'postgres', url: DATABASE_URL })
      : `PostgreSQL, ${how}, port ${postgres.port}, data in ${FAREWATCH_HOME}`
  const queue =
    REDIS_URL === undefined ? 'in the database' : describeStore({ kind: 'redis', url: REDIS_URL })
  if (terminal.interactive) terminal.step(database)
  else log.info({ database, queue }, 'stores')
}

function reportSandbox({ terminal, log }: CliContext, { sandbox }: Embedded): void {
  if (sandbox === undefined) return
  const { url } = sandbox
  if (terminal.interactive) {
    terminal.step(`sandbox instead of an upstream, ${url}; an hour passes there each minute`)
  } else log.warn({ sandbox: url }, 'UPSTREAM_BASE_URL is not set: a sandbox replaces the upstream')
}

async function seedDemo({ terminal }: CliContext, app: App, { sandbox }: Embedded): Promise<void> {
  if (sandbox === undefined) return
  const watches = await importDemoWatches(app.database.db, sandbox.world, sandbox.now())
  terminal.step(`${watches} sandbox flights watched for the reseller "${DEMO_RESELLER}"`)
}

/** Until the first key exists, requests from this machine need none: they read as the demo reseller. */
async function reportOpenApi(
  { terminal, log }: CliContext,
  { database: { db } }: App,
): Promise<void> {
  if (await hasKeys(db)) return
  await ensureDemoReseller(db)
  if (terminal.interactive) {
    terminal.step(
      `API open to this machine as "${DEMO_RESELLER}" until "bin/farewatch keys create" makes a key`,
    )
  } else log.warn({ reseller: DEMO_RESELLER }, 'the API is open to this machine until a key exists')
}

function reportReady(
  { terminal }: CliContext,
  addresses: readonly (readonly [string, string])[],
): void {
  if (!terminal.interactive) return
  const lines = addresses.map(([what, where]) => `  ${what.padEnd(8)} ${where}`)
  process.stderr.write(
    `\n${lines.join('\n')}\n\n  In another terminal: bin/farewatch status\n  Ctrl-C stops; the data stays\n\n`,
  )
}

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8)
LOOPBACK.addAddress('::1', 'ipv6')

/** Whether an address is reachable from this machine only. */
export function isLoopback(address: string): boolean {
  return LOOPBACK.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}
