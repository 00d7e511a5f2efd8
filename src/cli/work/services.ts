import path from 'node:path'
import { type App, openApp, type ReadyConfig } from '../../app/app.ts'
import { type Addresses, assertPortsUsable, runRoles } from '../../app/run-roles.ts'
import { targetRulesOf } from '../../app/settings-for.ts'
import {
  DEMO_RESELLER,
  type DemoReceiver,
  ensureDemoReseller,
  findFlightToTry,
  listDemoFlights,
  saveFlightToTry,
  seedDemoWatches,
  startDemoReceiver,
} from '../../embedded/demo.ts'
import { leaveDemo, makeUpHistory } from '../../embedded/demo-history.ts'
import { startDemonstration } from '../../embedded/demonstration.ts'
import { type Embedded, embedMissing } from '../../embedded/embed-missing.ts'
import { ensureHomeKey } from '../../embedded/home-keys.ts'
import { monitorPostgres } from '../../embedded/monitor-postgres.ts'
import { findRunning, homeKeyFile } from '../../embedded/running-services.ts'
import { systemClock } from '../../platform/base/clock.ts'
import { WORK_ROLES, type WorkRole } from '../../platform/base/kinds.ts'
import { type RoleName, roleText } from '../../platform/db/live-processes.ts'
import { PortTakenError } from '../../platform/http/server.ts'
import { describeStore } from '../../platform/queue/queue-connection.ts'
import { CODE_MINUTES, createSignInCode, signInLink } from '../../resellers/sign-in.ts'
import { type CliContext, createServiceContext } from '../context.ts'
import { exitSoon, UsageError } from '../exit-codes.ts'
import { countOf } from '../text/text-format.ts'

const ROLES = { up: [...WORK_ROLES, 'api'], worker: WORK_ROLES, api: ['api'] } as const

interface WorkerOptions {
  readonly roles?: readonly WorkRole[]
}

export const runUp = () => runService('up')
export const runApi = () => runService('api')
export const runWorker = ({ roles }: WorkerOptions) => runService('worker', roles)

async function runService(
  name: keyof typeof ROLES,
  roles: readonly RoleName[] = ROLES[name],
): Promise<void> {
  const context = createServiceContext(name)
  const { config, log, terminal, signal } = context
  if (name !== 'up' && config.DATABASE_URL === undefined) {
    throw new UsageError('DATABASE_URL is not set; "bin/farewatch up" brings an embedded database')
  }
  await assertPortsUsable(config, roles).catch(async (err: unknown) => {
    const running = await findRunning(config.FAREWATCH_HOME, 'api')
    if (!(err instanceof PortTakenError) || running === undefined) throw err
    throw new UsageError(
      `farewatch runs already in ${path.resolve(config.FAREWATCH_HOME)}: ${err.message}`,
    )
  })
  const sandbox = name === 'api' ? 'none' : 'start'
  const embedded = await embedMissing(config, { log, clock: systemClock, sandbox })
  const supervision = embedded.postgres?.supervision
  try {
    signal.throwIfAborted()
    reportStores(context, embedded)
    reportSandbox(context, embedded)
    const { receiver, config: ready } = await openReceiver(context, embedded)
    let link: SignInLink | undefined
    const role = name === 'worker' ? roleText(roles) : name
    const app = openApp({ config: ready, log, clock: systemClock, role })
    await runRoles(app, {
      roles,
      ...(supervision === undefined
        ? {}
        : { monitor: (opened, ending) => monitorPostgres(supervision, opened, ending) }),
      migrate: name === 'up',
      signal,
      seed: async (opened) => {
        await seedDemo(context, opened, { ...embedded, receiver })
        if (name === 'up') link = await prepareSignIn(context, opened, embedded)
      },
      onStep: terminal.step,
      onReady: (addresses) => reportReady(context, addresses, { app, embedded, receiver, link }),
      release: async () => {
        await receiver?.close()
        await embedded.release()
      },
    })
  } catch (err) {
    throw signal.aborted || supervision === undefined ? err : await supervision.explain(err)
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
 * without a key for the secrets of endpoints.
 */
async function openReceiver(
  { log }: CliContext,
  { sandbox, config }: Embedded,
): Promise<WithReceiver & { readonly config: ReadyConfig }> {
  if (sandbox === undefined || config.ENCRYPTION_KEY === undefined) {
    return { receiver: undefined, config }
  }
  const receiver = await startDemoReceiver((webhook) =>
    log.info({ ...webhook }, 'webhook received'),
  )
  const allowed = `${config.WEBHOOK_ALLOWED_NETWORKS},${receiver.network}`
  return { receiver, config: { ...config, WEBHOOK_ALLOWED_NETWORKS: allowed } }
}

/** What happens to a demo by itself. */
function reportDemo({ terminal, log }: CliContext, text: string): void {
  if (terminal.interactive) terminal.step(text)
  else log.info({ text }, 'demo')
}

async function seedDemo(
  context: CliContext,
  app: App,
  { sandbox, postgres, receiver }: Embedded & WithReceiver,
): Promise<void> {
  const { terminal, signal, config: given } = context
  const { database, config, sealer } = app
  const { db } = database
  if (given.UPSTREAM_BASE_URL !== undefined) await leaveDemo(db)
  if (sandbox === undefined) return
  const days = config.DEMO_HISTORY_DAYS
  const begin = () =>
    reportDemo(context, `makes up ${countOf(days, 'day')} of history; status and page say so`)
  if (postgres !== undefined) await makeUpHistory({ app, sandbox, days, signal, begin })
  const watches = await seedDemoWatches(db, sandbox.world, sandbox.now())
  terminal.step(`the reseller "${DEMO_RESELLER}" watches ${countOf(watches, 'flight')}`)
  const flight = await findFlightToTry(db, sandbox.world, sandbox.now())
  await saveFlightToTry(db, flight)
  const command = `bin/farewatch watch-lists add ${flight} --reseller ${DEMO_RESELLER}`
  reportDemo(context, `try flight ${flight}: ${command}`)
  await receiver?.register(db, { sealer, targetRules: targetRulesOf(config) })
}

/** Lets the sandbox of the demo break by itself until the process stops, unless a setting turns that off. */
async function demonstrate(
  context: CliContext,
  { database: { db }, config }: App,
  { sandbox, receiver }: Embedded & WithReceiver,
): Promise<void> {
  const { log, signal } = context
  const running = await findRunning(config.FAREWATCH_HOME, 'sandbox')
  if (sandbox === undefined || running === undefined || config.DEMO_FAULTS === 'off') return
  const say = (line: string) => reportDemo(context, `demonstration: ${line}`)
  const flights = await listDemoFlights(db)
  const deps = { db, clock: systemClock, log, sandbox: running, receiver, flights, say }
  const stop = startDemonstration(deps)
  signal.addEventListener('abort', () => void stop(), { once: true })
}

/** The link, once the address of the page is known. */
type SignInLink = (pageUrl: string) => string

/** Makes the keys of the home at the first start, and a link that signs the page in with keys of its own. */
async function prepareSignIn(
  { config, terminal }: CliContext,
  { database: { db } }: App,
  { sandbox }: Embedded,
): Promise<SignInLink> {
  const { FAREWATCH_HOME: home } = config
  const demo = sandbox === undefined ? undefined : await ensureDemoReseller(db)
  const resellerId = demo?.id ?? null
  const made = [await ensureHomeKey(db, home, { name: 'operator', resellerId: null })]
  if (demo !== undefined) made.push(await ensureHomeKey(db, home, { name: 'demo', resellerId }))
  if (made.includes(true)) {
    terminal.step(`keys of the API in ${path.dirname(homeKeyFile(home, 'operator'))}`)
  }
  const { code } = await createSignInCode(db, { operator: true, resellerId })
  return (pageUrl) => signInLink(pageUrl.replace(/\/$/, ''), code)
}

interface Shown extends WithReceiver {
  readonly app: App
  readonly embedded: Embedded
  readonly link: SignInLink | undefined
}

async function reportReady(
  context: CliContext,
  addresses: Addresses,
  { app, embedded, receiver, link }: Shown,
): Promise<void> {
  await demonstrate(context, app, { ...embedded, receiver })
  const { terminal, log } = context
  const { api, page = '' } = Object.fromEntries(addresses)
  if (api !== undefined) await embedded.recordApi(Number(new URL(api).port))
  const signIn = link?.(page)
  const about = `a link that signs the page in once, within ${CODE_MINUTES} minutes`
  if (!terminal.interactive) {
    if (signIn !== undefined) log.info({ link: signIn }, about)
    return
  }
  const webhooks =
    receiver === undefined ? [] : [['webhooks', `arrive at ${receiver.url}`] as const]
  const lines = [...addresses, ...webhooks].map(([what, where]) => `  ${what.padEnd(8)} ${where}`)
  const open =
    signIn === undefined
      ? ''
      : `  Open ${signIn}\n  (${about}; "bin/farewatch keys link" prints another)\n\n`
  process.stderr.write(
    `\n${lines.join('\n')}\n\n${open}  In another terminal: bin/farewatch status\n  Ctrl-C stops; the data stays\n\n`,
  )
}
