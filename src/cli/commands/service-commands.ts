import type { Command } from 'commander'
import { hasKeys } from '../../access/key-queries.ts'
import { type App, openApp } from '../../app/app.ts'
import { type RoleName, runRoles } from '../../app/run-roles.ts'
import { watchEmbedded } from '../../app/watch-embedded.ts'
import { systemClock } from '../../base/clock.ts'
import { isLoopback } from '../../base/loopback.ts'
import {
  DEMO_RESELLER,
  ensureDemoReseller,
  importDemoWatches,
} from '../../embedded/demo-watches.ts'
import { type Embedded, embedMissing } from '../../embedded/embed-missing.ts'
import { type CliContext, createServiceContext } from '../context.ts'
import { endSoon, interruptSignal } from '../interrupt.ts'
import { UsageError } from '../usage-error.ts'

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
    tellEmbedded(context, embedded)
    const app = openApp({
      config: embedded.config,
      log: context.log,
      clock: systemClock,
      role: name,
    })
    await runRoles(app, {
      roles,
      ...(embedded.postgres === undefined ? {} : { watch: watchEmbedded }),
      ...(open ? { openReseller: DEMO_RESELLER } : {}),
      migrate: name === 'up',
      signal,
      seed: async (opened) => {
        await seedDemo(context, opened, embedded)
        if (open) await openDemo(context, opened)
      },
      onStep: context.terminal.step,
      onReady: (addresses) => tellReady(context, addresses),
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
      'DATABASE_URL is not set: "farewatch up" runs everything on an embedded database',
    )
  }
}

function tellEmbedded({ terminal }: CliContext, { postgres, sandbox, config }: Embedded): void {
  if (postgres !== undefined) {
    const how = postgres.startedHere ? 'embedded' : 'embedded, already running'
    terminal.step(`PostgreSQL, ${how}, port ${postgres.port}, data in ${config.FAREWATCH_HOME}`)
  }
  if (sandbox !== undefined) {
    terminal.step(`no UPSTREAM_BASE_URL: a sandbox in its place, ${sandbox.url}, an hour a minute`)
  }
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
  log.warn({ reseller: DEMO_RESELLER }, 'the API is open to this machine until a first key exists')
  terminal.step(
    `the API is open to this machine as "${DEMO_RESELLER}", until "farewatch keys create" makes a first key`,
  )
}

function tellReady(
  { terminal }: CliContext,
  addresses: readonly (readonly [string, string])[],
): void {
  if (!terminal.interactive) return
  const lines = addresses.map(([what, where]) => `  ${what.padEnd(8)} ${where}`)
  process.stderr.write(`\n${lines.join('\n')}\n  Ctrl-C stops; the data stays\n\n`)
}
