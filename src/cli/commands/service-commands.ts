import type { Command } from 'commander'
import { type App, openApp } from '../../app/app.ts'
import { monitorEmbedded } from '../../app/liveness.ts'
import { type RoleName, runRoles } from '../../app/run-roles.ts'
import { systemClock } from '../../base/clock.ts'
import { isLoopback } from '../../base/loopback.ts'
import { DEMO_RESELLER, ensureDemoReseller, importDemoWatches } from '../../embedded/demo.ts'
import { type Embedded, embedMissing } from '../../embedded/embed-missing.ts'
import { describeStore } from '../../queue/queue-connection.ts'
import { hasKeys } from '../../resellers/api-keys.ts'
import { type CliContext, createServiceContext } from '../context.ts'
import { UsageError } from '../exit-codes.ts'
import { endSoon, interruptSignal } from '../interrupt.ts'

const ROLES: Readonly<Record<'up' | RoleName, { about: string; roles: readonly RoleName[] }>> = {
  up: {
    about: 'run everything in one process; what is not configured is embedded',
    roles: ['worker', 'api'],
  },
  worker: { about: 'run the jobs: syncs, checks, deliveries', roles: ['worker'] },
  api: { about: 'run the read API', roles: ['api'] },
}

export function addServiceCommands(program: Command): void {
  for (const [name, { about, roles }] of Object.entries(ROLES)) {
    program
      .command(name)
      .description(about)
      .addHelpText('after', `\nExample:\n  farewatch ${name}`)
      .action(() => runService(name, roles))
  }
}

async function runService(name: string, roles: readonly RoleName[]): Promise<void> {
  const context = createServiceContext()
  const signal = interruptSignal()
  if (name !== 'up') requireAddresses(context)
  // Whom this machine's network reaches may call itself localhost too.
  const open = name === 'up' && isLoopback(context.config.API_HOST)
  const embedded = await embedMissing(context.config, {
    log: context.log,
    clock: systemClock,
    sandbox: roles.includes('worker'),
  })
  try {
    signal.throwIfAborted()
    tellStores(context, embedded)
    tellSandbox(context, embedded)
    const app = openApp({
      config: embedded.config,
      log: context.log,
      clock: systemClock,
      role: name,
    })
    await runRoles(app, {
      roles,
      ...(embedded.postgres === undefined ? {} : { monitor: monitorEmbedded }),
      ...(open ? { openReseller: DEMO_RESELLER } : {}),
      migrate: name === 'up',
      signal,
      seed: async (opened) => {
        await seedDemo(context, opened, embedded)
        if (open) await openDemo(context, opened)
      },
      onStep: context.terminal.step,
      onReady: (addresses) => tellReady(context, addresses),
      release: embedded.release,
    })
  } finally {
    await embedded.release()
    context.terminal.step('stopped')
    endSoon()
  }
}

/** `worker` and `api` are parts of a larger whole: an embedded database of their own would be a surprise. */
function requireAddresses({ config }: CliContext): void {
  if (config.DATABASE_URL === undefined) {
    throw new UsageError(
      'DATABASE_URL is not set: "bin/farewatch up" runs everything on an embedded database',
    )
  }
}

/** On a terminal the queue is a step of its own, once it answers. */
function tellStores({ terminal, log }: CliContext, { postgres, config }: Embedded): void {
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

function tellSandbox({ terminal, log }: CliContext, { sandbox }: Embedded): void {
  if (sandbox === undefined) return
  const { url } = sandbox
  if (terminal.interactive) {
    terminal.step(`no UPSTREAM_BASE_URL: a sandbox in its place, ${url}, an hour a minute`)
  } else log.warn({ sandbox: url }, 'no UPSTREAM_BASE_URL: a sandbox stands in for the upstream')
}

/** In the sandbox's world there is nobody to watch anything, so a demo reseller does. */
async function seedDemo({ terminal }: CliContext, app: App, { sandbox }: Embedded): Promise<void> {
  if (sandbox === undefined) return
  const watches = await importDemoWatches(app.database.db, sandbox.world, sandbox.now())
  terminal.step(`${watches} watches of reseller "${DEMO_RESELLER}" in the sandbox’s world`)
}

/** Until somebody makes a key, whoever sits at this machine may try the API out. */
async function openDemo({ terminal, log }: CliContext, { database: { db } }: App): Promise<void> {
  if (await hasKeys(db)) return
  await ensureDemoReseller(db)
  const says = 'the API is open to this machine'
  if (terminal.interactive) {
    terminal.step(
      `${says} as "${DEMO_RESELLER}", until "bin/farewatch keys create" makes a first key`,
    )
  } else log.warn({ reseller: DEMO_RESELLER }, `${says} until a first key exists`)
}

function tellReady(
  { terminal }: CliContext,
  addresses: readonly (readonly [string, string])[],
): void {
  if (!terminal.interactive) return
  const lines = addresses.map(([what, where]) => `  ${what.padEnd(8)} ${where}`)
  process.stderr.write(`\n${lines.join('\n')}\n  Ctrl-C stops; the data stays\n\n`)
}
