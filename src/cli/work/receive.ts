import { once } from 'node:events'
import { targetRulesOf } from '../../app/settings-for.ts'
import { deleteEndpoint, type EndpointDeps } from '../../delivery/endpoints/change-endpoints.ts'
import type { EndpointOwner } from '../../delivery/endpoints/endpoint-queries.ts'
import { addTestEvent } from '../../delivery/endpoints/test-events.ts'
import { urlFault } from '../../delivery/formats/target-policy.ts'
import {
  registerReceiver,
  type ShownWebhook,
  secretFault,
  startReceiver,
} from '../../delivery/receiver.ts'
import { systemClock } from '../../platform/base/clock.ts'
import { listLiveProcesses, missingWork } from '../../platform/db/live-processes.ts'
import { assertPortUsable } from '../../platform/http/server.ts'
import { requireReseller } from '../../resellers/resellers.ts'
import { type CliContext, createContext, withApp } from '../context.ts'
import type { ProgramOptions } from '../describe.ts'
import { UsageError } from '../exit-codes.ts'
import { printable } from '../text/text-format.ts'

interface ReceiveFlags extends ProgramOptions {
  readonly host: string
  readonly port: number
  readonly secret?: string
  readonly reseller?: string
}

export async function receive(flags: ReceiveFlags): Promise<void> {
  const { reseller, secret } = flags
  const fault = secret === undefined ? undefined : secretFault(secret)
  if (fault !== undefined) throw new UsageError(`--secret ${fault}`)
  if (reseller === undefined) return receiveUntilStopped(createContext({ options: flags }), flags)
  const needs = { role: 'receive', options: flags, quiet: false, endsItself: true }
  await withApp(needs, async ({ database: { db }, config, sealer }, context) => {
    const owner = { db, resellerId: (await requireReseller(db, reseller)).id }
    const deps = { sealer, targetRules: targetRulesOf(config) }
    await receiveUntilStopped(context, flags, (target) => openEndpoint(owner, deps, target))
  })
}

interface OpenedEndpoint {
  readonly id: string
  readonly secret: string | null
  /** Whether a process sends webhooks now. */
  readonly isServed: boolean
  close(): Promise<void>
}

async function receiveUntilStopped(
  { terminal, log, signal }: CliContext,
  { host, port, ...given }: ReceiveFlags,
  open?: (target: string) => Promise<OpenedEndpoint>,
): Promise<void> {
  let secret = given.secret
  await assertPortUsable({ host, port, setting: '--port' })
  const receiver = await startReceiver({
    host,
    port,
    secret: () => secret,
    now: () => systemClock.now(),
    onWebhook: (webhook) => terminal.print(webhook, () => lineOf(webhook)),
  })
  try {
    const endpoint = await open?.(receiver.url)
    secret ??= endpoint?.secret ?? undefined
    const of = endpoint === undefined ? '' : ` for the endpoint ${endpoint.id}`
    if (terminal.interactive) terminal.step(`webhooks arrive at ${receiver.url}${of}; Ctrl-C stops`)
    else log.info({ receiver: receiver.url, endpoint: endpoint?.id }, 'ready')
    if (endpoint?.isServed === false) log.warn('no process sends webhooks now: start farewatch')
    if (!signal.aborted) await once(signal, 'abort')
    await endpoint?.close()
  } finally {
    await receiver.close()
  }
  terminal.step('stopped')
}

/** Opens an endpoint that delivers to this machine, and sends it a test event. */
async function openEndpoint(
  owner: EndpointOwner,
  deps: EndpointDeps,
  target: string,
): Promise<OpenedEndpoint> {
  const { hostname, port } = new URL(target)
  if (urlFault(target, deps.targetRules.urls) !== undefined) {
    throw new UsageError(
      `endpoints may not deliver to ${target}: set WEBHOOK_ALLOWED_NETWORKS=${hostname}/32:${port} in .env, and start farewatch again`,
    )
  }
  const description = `bin/farewatch receive at ${target}`
  const { id, secret } = await registerReceiver(owner, deps, { target, description })
  await addTestEvent(owner, id)
  const processes = await listLiveProcesses(owner.db)
  const isServed = !missingWork(processes.map(({ role }) => role)).includes('deliver')
  return { id, secret, isServed, close: () => deleteEndpoint(owner, id) }
}

function lineOf({ seq, outcome, text }: ShownWebhook): string {
  return `${String(seq ?? '').padStart(6)}  ${outcome.padEnd(12)}  ${printable(text)}`
}
