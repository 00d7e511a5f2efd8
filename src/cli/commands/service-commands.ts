import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { API_DOCUMENT } from '../../app/api-document.ts'
import { type App, openApp, type ReadyConfig } from '../../app/app.ts'
import { assertPortsUsable, type RoleName, runRoles } from '../../app/run-roles.ts'
import { targetRulesOf, whyNotOpen } from '../../app/settings-for.ts'
import {
  DEMO_RESELLER,
  type DemoReceiver,
  ensureDemoReseller,
  seedDemoWatches,
  startDemoReceiver,
} from '../../embedded/demo.ts'
import { type Embedded, embedMissing } from '../../embedded/embed-missing.ts'
import { monitorPostgres } from '../../embedded/monitor-postgres.ts'
import { systemClock } from '../../platform/base/clock.ts'
import { loadConfig } from '../../platform/config/config.ts'
import { redactedConfig } from '../../platform/config/settings.ts'
import { describeStore } from '../../platform/queue/queue-connection.ts'
import { hasKeys } from '../../resellers/api-keys.ts'
import { type CliContext, createServiceContext } from '../context.ts'
import { exitSoon, UsageError } from '../exit-codes.ts'
import { createTerminal } from '../terminal.ts'
import { example, table } from '../text/text-format.ts'

/** Docker, Podman and Kubernetes put these into their containers, which may share their loopback with others. */
const CONTAINER_FILES = ['/.dockerenv', '/run/.containerenv', '/var/run/secrets/kubernetes.io']

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
  await assertPortsUsable(config, roles)
  const closed = name === 'up' ? whyNotOpen(config, CONTAINER_FILES.some(existsSync)) : 'no demo'
  const sandbox = roles.includes('worker') ? 'start' : 'none'
  const embedded = await embedMissing(config, { log, clock: systemClock, sandbox })
  const supervision = embedded.postgres?.supervision
  try {
    signal.throwIfAborted()
    reportStores(context, embedded)
    reportSandbox(context, embedded)
    const { receiver, config: ready } = await openReceiver(context, embedded, closed)
    const app = openApp({ config: ready, log, clock: systemClock, role: name })
    await runRoles(app, {
      roles,
      ...(supervision === undefined
        ? {}
        : { monitor: (opened, ending) => monitorPostgres(supervision, opened, ending) }),
      ...(closed === undefined ? { openReseller: DEMO_RESELLER } : {}),
      migrate: name === 'up',
      signal,
      seed: async (opened) => {
        await seedDemo(context, opened, { ...embedded, receiver })
        if (name === 'up') await reportOpenApi(context, opened, closed)
      },
      onStep: terminal.step,
      onReady: (addresses) => reportReady(context, addresses, receiver),
      release: async () => {
        await receiver?.close()
        await embedded.release()
      },
    })
  } finally {
    await embedded.release()
    terminal.step('stopped')
    exitSoon()
  }
}

/** A terminal shows the queue as a step of its own, once the queue answers. */
function reportStores({ terminal, log }: CliContext, { postgres, config }: Embedded): void {
  const { DATABASE_URL, REDIS_URL } = config
  const database =
    postgres === undefined
      ? describeStore({ kind: 'postgres', url: DATABASE_URL })
      : `PostgreSQL, embedded, port ${postgres.port}, data in ${postgres.directory}`
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

interface WithReceiver {
  readonly receiver: DemoReceiver | undefined
}

/**
 * Starts a receiver for the webhooks of the demo, and allows its address and port as a target. There is none
 * outside the open demo, and none without a key for the secrets of endpoints.
 */
async function openReceiver(
  { log }: CliContext,
  { sandbox, config }: Embedded,
  closed: string | undefined,
): Promise<WithReceiver & { readonly config: ReadyConfig }> {
  if (closed !== undefined || sandbox === undefined || config.ENCRYPTION_KEY === undefined) {
    return { receiver: undefined, config }
  }
  const receiver = await startDemoReceiver((webhook) =>
    log.info({ ...webhook }, 'webhook received'),
  )
  const allowed = `${config.WEBHOOK_ALLOWED_NETWORKS},${receiver.network}`
  return { receiver, config: { ...config, WEBHOOK_ALLOWED_NETWORKS: allowed } }
}

async function seedDemo(
  { terminal }: CliContext,
  { database: { db }, config, sealer }: App,
  { sandbox, receiver }: Embedded & WithReceiver,
): Promise<void> {
  if (sandbox === undefined) return
  const watches = await seedDemoWatches(db, sandbox.world, sandbox.now())
  terminal.step(`${watches} sandbox flights watched for the reseller "${DEMO_RESELLER}"`)
  await receiver?.register(db, { sealer, targetRules: targetRulesOf(config) })
}

/**
 * Until the first key exists, requests from this machine need none: they read as the demo reseller.
 * @param closed why they need one.
 */
async function reportOpenApi(
  { terminal, log }: CliContext,
  { database: { db } }: App,
  closed: string | undefined,
): Promise<void> {
  if (await hasKeys(db)) return
  if (closed !== undefined) {
    const how = 'bin/farewatch keys create'
    if (terminal.interactive) terminal.step(`API needs a key (${closed}): "${how}" makes one`)
    else log.info({ reason: closed }, 'the API needs a key')
    return
  }
  await ensureDemoReseller(db)
  if (terminal.interactive) {
    terminal.step(
      `API open as "${DEMO_RESELLER}" to this machine and any proxy on it, until "bin/farewatch keys create"`,
    )
  } else {
    const open = 'the API is open to this machine and to any proxy on it until a key exists'
    log.warn({ reseller: DEMO_RESELLER }, open)
  }
}

function reportReady(
  { terminal }: CliContext,
  addresses: readonly (readonly [string, string])[],
  receiver: DemoReceiver | undefined,
): void {
  if (!terminal.interactive) return
  const webhooks =
    receiver === undefined ? [] : [['webhooks', `arrive at ${receiver.url}`] as const]
  const lines = [...addresses, ...webhooks].map(([what, where]) => `  ${what.padEnd(8)} ${where}`)
  process.stderr.write(
    `\n${lines.join('\n')}\n\n  In another terminal: bin/farewatch status\n  Ctrl-C stops; the data stays\n\n`,
  )
}

export function addConfigCommand(program: Command): void {
  program
    .command('config')
    .description('Print the settings in force, without secrets')
    .option('--json', 'print one JSON object')
    .addHelpText('after', example('config'))
    .action(({ json }: { json?: boolean }) => {
      const lines = redactedConfig(loadConfig())
      const values = Object.fromEntries(lines.map(({ name, value }) => [name, value]))
      const rows = lines.map((line) => [
        line.name,
        String(line.value ?? '-'),
        line.default ? 'default' : 'set',
        line.about,
      ])
      createTerminal(process).print(json, values, () =>
        table(['setting', 'value', 'from', 'what it does'], rows),
      )
    })
}

export function addOpenApiCommand(program: Command): void {
  program
    .command('openapi')
    .description('Print the OpenAPI document of the API')
    .addHelpText('after', example('openapi > openapi.json'))
    .action(() => void process.stdout.write(`${JSON.stringify(API_DOCUMENT)}\n`))
}
